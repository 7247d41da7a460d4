package hybrid

import (
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// Wrong use is an error that says what is wrong, never a panic.
func TestMisuse(t *testing.T) {
	ctx, eng := t.Context(), engine.New(open(t))
	env, err := envs.Lookup("Pendulum-v1")
	if err != nil {
		t.Fatal(err)
	}
	only := func(_ any, err error) error { return err }
	none := func(...rl.Option) (*rl.OffPolicy, error) { return nil, nil }
	noOption := func(opts ...rl.Option) (*rl.OffPolicy, error) {
		return rl.NewTD3(ctx, eng, env, rl.DefaultTD3(), append(opts, nil)...)
	}
	behaviour, network, policy := problem.BehaviourConfig{}, problem.DefaultNetwork(), problem.DefaultPolicy()
	const noAgents = "result of the function that makes agents is nil"
	for _, c := range []struct {
		what string
		err  error
		want string
	}{
		{"PBT of nothing", only(NewPBT(ctx, nil, DefaultPBT())), "workflow is nil"},
		{"ERL of nothing", only(NewERL(ctx, nil, ec.DefaultGA(), DefaultERL())), "agents is nil"},
		{"CEM-RL of no function", only(NewCEMRL(ctx, nil, ec.DefaultCEM(), DefaultCEMRL())), "agents is nil"},
		{"CEM-RL of no agents", only(NewCEMRL(ctx, none, ec.DefaultCEM(), DefaultCEMRL())), noAgents},
		{"CEM-RL with no option", only(NewCEMRL(ctx, noOption, ec.DefaultCEM(), DefaultCEMRL())), "option is nil"},
		{"CEM-RL of no algorithm", only(NewCEMRL(ctx, none, nil, DefaultCEMRL())), "algorithm is nil"},
		{"QD-PG of no function", only(NewQDPG(ctx, nil, ec.DefaultMAPElites(), behaviour, DefaultQDPG())), "agents is nil"},
		{"QD-PG of no agents", only(NewQDPG(ctx, none, ec.DefaultMAPElites(), behaviour, DefaultQDPG())), noAgents},
		{"PGA-ME of nothing", only(NewPGAME(ctx, nil, ec.DefaultMAPElites(), behaviour, DefaultPGAME())), "agents is nil"},
		{"DvD-ES of no engine", only(NewDvDES(ctx, nil, env, envs.Options{}, network, policy, ec.DefaultOpenES(), DefaultDvDES())), "engine is nil"},
		{"DvD-ES of no environment", only(NewDvDES(ctx, eng, nil, envs.Options{}, network, policy, ec.DefaultOpenES(), DefaultDvDES())), "environment is nil"},
		{"DvD-ES of no algorithm", only(NewDvDES(ctx, eng, env, envs.Options{}, network, policy, nil, DefaultDvDES())), "algorithm is nil"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v; want %q", c.what, c.err, c.want)
		}
	}
}
