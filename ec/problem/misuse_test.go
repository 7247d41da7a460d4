package problem

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// Wrong use of searches and problems is an error that says what is wrong: never a panic, and never without end.
func TestMisuse(t *testing.T) {
	ctx, eng := t.Context(), engine.New(open(t))
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	only := func(_ any, err error) error { return err }
	search := func(p ec.Problem) error { return only(ec.NewSearch(ctx, eng, ec.DefaultOpenES(), p, 1)) }
	pair := ec.Space{Members: 1, Dim: 2}
	asked := func(use func(*ec.AskTell) error) error {
		a, err := ec.NewAskTell(eng, ec.DefaultOpenES(), pair)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		return use(a)
	}
	closed := func(use func(*ec.AskTell) error) error {
		return asked(func(a *ec.AskTell) error {
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			return use(a)
		})
	}
	usual, no := func(int, float64) ec.Algorithm { return ec.DefaultCMAES() }, func(int, float64) ec.Algorithm { return nil }
	network, policy := DefaultNetwork(), DefaultPolicy()
	type misuse struct {
		what string
		err  error
		want string
	}
	const early, late = "no contents yet", "closed"
	cases := []misuse{
		{"no function", search(&Function{}), "1 to 16777216"},
		{"no settings", only(ec.NewSearch(ctx, eng, ec.OpenESConfig{}, Sphere(2), 1)), "want"},
		{"no spec", only(GLSL(ctx, GLSLSpec{}, "")), "at least 1"},
		{"no text", only(FromGLSL("x", nil)), ""},
		{"no environment", search(Policy(nil, envs.Options{}, network, policy)), "environment is nil"},
		{"no environment of actors", search(Actors(nil, envs.Options{}, network, nn.Head{}, policy)), "environment is nil"},
		{"no head of actors", search(Actors(env, envs.Options{}, network, nn.Head{}, policy)), ""},
		{"no environment to check", Parts{Network: network, Policy: policy}.Check(), "environment is nil"},
		{"no environment to describe", only(DescribedPolicy(nil, envs.Options{}, network, policy, BehaviourConfig{})), "environment is nil"},
		{"no environment of a behaviour", BehaviourConfig{}.Check(Parts{}), "environment is nil"},
		{"restarts without settings", only(ec.Restart(ctx, eng, ec.RestartConfig{}, nil, nil, 1)), "is nil"},
		{"restarts without engine", only(ec.Restart(ctx, nil, ec.DefaultRestart(), usual, Sphere(2), 1)), "engine is nil"},
		{"restarts without algorithm", only(ec.Restart(ctx, eng, ec.DefaultRestart(), nil, Sphere(2), 1)), "algorithm is nil"},
		{"restarts of no algorithm", only(ec.Restart(ctx, eng, ec.DefaultRestart(), no, Sphere(2), 1)), "algorithm is nil"},
		{"asked early", asked(func(a *ec.AskTell) error { return only(a.Ask(ctx)) }), "call Begin"},
		{"told early", asked(func(a *ec.AskTell) error { return a.Tell(ctx, ec.Results{}) }), ""},
		{"begun nowhere", asked(func(a *ec.AskTell) error { return a.Begin(ctx, nil) }), "start"},
		{"loaded nothing", asked(func(a *ec.AskTell) error { return a.Load(ctx, nil) }), "checkpoint is nil"},
		{"best of nothing", asked(func(a *ec.AskTell) error { _, _, err := a.Best(ctx); return err }), early},
		{"solution of nothing", asked(func(a *ec.AskTell) error { return only(a.Solution(ctx)) }), early},
		{"closed: ask", closed(func(a *ec.AskTell) error { return only(a.Ask(ctx)) }), ""},
		{"closed: begin", closed(func(a *ec.AskTell) error { return a.Begin(ctx, [][]float32{{1, 2}}) }), late},
		{"closed: best", closed(func(a *ec.AskTell) error { _, _, err := a.Best(ctx); return err }), late},
	}
	for _, n := range []int{-1, 0, 1 << 40, math.MaxInt, math.MinInt, 1 << 62, 1<<32 + 1} {
		for name, f := range map[string]func(int) *Function{"sphere": Sphere, "rosenbrock": Rosenbrock, "rastrigin": Rastrigin, "ackley": Ackley, "arm": Arm} {
			cases = append(cases, misuse{fmt.Sprint(name, " ", n), search(f(n)), "want 1 to 16777216"})
		}
		hidden := network
		hidden.Hidden = []int{n}
		cases = append(cases,
			misuse{fmt.Sprint("members ", n), only(ec.NewSearch(ctx, eng, ec.DefaultOpenES(), Sphere(3), n)), ""},
			misuse{fmt.Sprint("members that restart ", n), only(ec.Restart(ctx, eng, ec.DefaultRestart(), usual, Sphere(2), n)), "want 1 to"},
			misuse{fmt.Sprint("units ", n), search(Policy(env, envs.Options{}, hidden, policy)), "want"},
			misuse{fmt.Sprint("function of DTLZ ", n), only(DTLZ(n, 3, 0)), "want DTLZ1 to DTLZ7"},
			misuse{fmt.Sprint("objectives of DTLZ ", n), only(DTLZ(1, n, 10)), "of 2 to 16"},
			misuse{fmt.Sprint("function of ZDT ", n), only(ZDT(n, 3)), "want ZDT1 to ZDT6"},
			misuse{fmt.Sprint("BBOB ", n), only(BBOB(BBOBConfig{Function: 1, Dimension: n})), "want"},
			misuse{fmt.Sprint("dimensions told ", n), only(ec.NewAskTell(eng, ec.DefaultOpenES(), ec.Space{Members: 1, Dim: n})), ""},
			misuse{fmt.Sprint("members told ", n), only(ec.NewAskTell(eng, ec.DefaultOpenES(), ec.Space{Members: n, Dim: 2})), ""},
			misuse{fmt.Sprint("objectives ", n), only(ec.DasDennis(n, 3)), "want"},
			misuse{fmt.Sprint("partitions ", n), only(ec.DasDennis(3, n)), "want at least 1"},
			misuse{fmt.Sprint("candidates of fronts ", n), only(ec.NewFronts(eng.NewState(), n, 2)), ""},
		)
		if n != 0 { // the paper's
			cases = append(cases, misuse{fmt.Sprint("DTLZ ", n), only(DTLZ(1, 3, n)), "want at least as many"}, misuse{fmt.Sprint("ZDT ", n), only(ZDT(1, n)), "want 0"})
		}
	}
	for _, c := range cases {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v; want %q", c.what, c.err, c.want)
		}
	}
}
