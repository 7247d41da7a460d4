package catalog

import (
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs/bridge"
	"github.com/evorl/evorl/envs/dmenvrpc"
)

// RemoteSection is the section of environments that a server of dm_env_rpc has.
const RemoteSection = dmenvrpc.Section

// remote is an environment that a server of dm_env_rpc has.
type remote struct {
	name   string
	given  dmenvrpc.Config // [dm_env_rpc] as the configuration has it
	specs  *dmenvrpc.Specs
	config *dmenvrpc.Config // [dm_env_rpc]
	fails  bridge.Failures
}

// placeRemote makes the environment of a server of dm_env_rpc. The server is asked what it is, unless the configuration has that, as a run's does, or is
// another form of one for which it was asked already.
func (s *Setup) placeRemote(name string, d *config.Document, r *Reader) error {
	of := &remote{name: name, config: new(dmenvrpc.Config)}
	*of.config = dmenvrpc.Default()
	if err := d.Only(RemoteSection, of.config); err != nil {
		return err
	}
	of.given = *of.config
	if same := r.remote; same != nil && of.given.Spec == "" && same.asksLike(of) {
		of.specs = same.specs
	} else if err := r.checkTold(RemoteSection, of.given.Spec, d); err != nil {
		return err
	} else {
		var err error
		if of.specs, err = dmenvrpc.Describe(r.Context, name, of.given); err != nil {
			return r.unread(err, d)
		}
	}
	env, err := dmenvrpc.New(name, of.config, of.specs, &of.fails)
	if err != nil {
		return d.Errorf("env", "%v", err)
	}
	s.Env, s.remote = env, of
	return nil
}

// asksLike reports whether another environment is asked the same in the same way.
func (o *remote) asksLike(other *remote) bool {
	a, b := o.given, other.given
	return o.name == other.name && a.World == b.World && a.Create == b.Create && a.Join == b.Join
}

// finish keeps what the server said, so that a run is resumed in the same.
func (o *remote) finish() {
	o.given = *o.config
	o.config.Spec = o.specs.Text()
}

// original returns the settings as they were given, without what the server said.
func (o *remote) original() *remote {
	of := &remote{name: o.name, given: o.given, specs: o.specs, config: new(dmenvrpc.Config)}
	*of.config = o.given
	of.config.Spec = ""
	return of
}

// RemoteKinds documents the environments that a server of dm_env_rpc has, and the section [dm_env_rpc].
func RemoteKinds() (kind bridge.Kind, section Section, err error) {
	defaults := dmenvrpc.Default()
	keys, err := config.Schema(&defaults)
	return bridge.Kind{Prefix: dmenvrpc.Prefix, Rest: "HOST:PORT", Summary: "a world of a server of DeepMind's dm_env_rpc"}, Section{RemoteSection, keys}, err
}
