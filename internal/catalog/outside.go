package catalog

import (
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs/bridge"
)

// BridgeSection is the section of environments outside of evorl, such as env = "gymnasium:CartPole-v1".
const BridgeSection = "bridge"

// outside is an environment that a server steps.
type outside struct {
	name   string
	given  bridge.Config // [bridge] as the configuration has it
	asked  bridge.Config // by which it was asked what it is
	hello  *bridge.Hello
	config *bridge.Config // [bridge]
	fails  bridge.Failures
}

// placeOutside makes the environment of a server. It is asked what it steps, by a process that ends at once, unless the configuration has that, as a run's
// does, or is another form of one that has asked already.
func (s *Setup) placeOutside(name string, d *config.Document, r *Reader) error {
	of := &outside{name: name, config: new(bridge.Config)}
	*of.config = bridge.Default()
	if err := d.Only(BridgeSection, of.config); err != nil {
		return err
	}
	if r.Within != nil { // it has come from another machine
		*of.config = of.config.Elsewhere()
	}
	s.locate = r.absolute
	of.asked = of.config.Located(s.locate)
	if same := r.outside; same != nil && of.config.Spec == "" && same.asksLike(of) {
		of.hello = same.hello
	} else if err := r.checkTold(BridgeSection, of.config.Spec, d); err != nil {
		return err
	} else {
		var err error
		if of.hello, err = bridge.Describe(r.Context, name, of.asked); err != nil {
			return r.unread(err, d)
		}
	}
	env, err := bridge.New(name, of.config, of.hello, &of.fails)
	if err != nil {
		return d.Errorf("env", "%v", err)
	}
	s.Env, s.outside = env, of
	return nil
}

// asksLike reports whether another environment is asked the same in the same way.
func (o *outside) asksLike(other *outside) bool {
	a, b := o.asked, other.asked
	return o.name == other.name && a.Python == b.Python && a.Folder == b.Folder && a.Arguments == b.Arguments && a.Atari == b.Atari
}

// finish keeps what a run needs to be resumed elsewhere: where the server is, and what it said that it steps.
func (o *outside) finish(locate func(string) string) {
	o.given = *o.config
	*o.config = o.config.Located(locate)
	o.config.Spec = o.hello.Text()
}

// original returns the settings as they were given, without what the environment said of itself.
func (o *outside) original() *outside {
	of := &outside{name: o.name, asked: o.asked, hello: o.hello, config: new(bridge.Config)}
	*of.config = o.given
	of.config.Spec = ""
	return of
}

// OutsideFailures returns the failures of environments outside of evorl after which they were restarted, and the last of them; 0 if there are none.
func (s *Setup) OutsideFailures() (n int, last error) {
	if s == nil || s.outside == nil && s.remote == nil { // of a configuration that was not read
		return 0, nil
	}
	var fails *bridge.Failures
	if s.outside != nil {
		fails = &s.outside.fails
	} else {
		fails = &s.remote.fails
	}
	n, of := fails.Count()
	if n == 0 {
		return 0, nil
	}
	return n, of
}

// OutsideKinds documents the environments outside of evorl: by prefix what may follow it, and the section [bridge].
func OutsideKinds() (kinds []bridge.Kind, section Section, err error) {
	defaults := bridge.Default()
	keys, err := config.Schema(&defaults)
	return bridge.Kinds(), Section{BridgeSection, keys}, err
}
