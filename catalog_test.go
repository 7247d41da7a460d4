package evorl_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/envs"
)

// climber is the configuration of a strategy that is configured, but never made.
type climber struct {
	name string
	Step float64 `above:"0" member:"log_uniform 0.01 1" doc:"Size of steps."`
}

func (c climber) Name() string { return c.name }

func (c climber) New(*engine.State, engine.Clock, *engine.Hyper, ec.Space) (ec.Strategy, error) {
	return nil, errors.New("a test makes it")
}

func newClimber() climber { return climber{"climber", 0.5} }

// slope is the section of a problem.
type slope struct {
	Dimension int `min:"1" doc:"Dimensions of a candidate."`
}

func (s *slope) Problem() (ec.Problem, error) { return problem.Sphere(s.Dimension), nil }

func newSlope() evorl.ProblemSettings { return &slope{3} }

// A catalog has a program's own strategies and problems, with their sections; other catalogs do not.
func TestOwnParts(t *testing.T) {
	catalog, err := evorl.NewCatalog(evorl.OwnStrategy("climbs", newClimber), evorl.OwnProblem("slope", "an easy problem", newSlope))
	if err != nil {
		t.Fatal(err)
	}
	const text = "workflow = \"climber\"\nenv = \"%\"\n[climber]\nstep = 0.25\n"
	for _, env := range []string{"slope", "CartPole-v1", "sphere"} {
		text := strings.Replace(text, "%", env, 1)
		cfg, err := evorl.Parse("x.toml", []byte(text), evorl.Use(catalog))
		if err != nil {
			t.Fatal(err)
		}
		stored, err := cfg.TOML()
		if err != nil || !strings.Contains(string(stored), "step = 0.25") {
			t.Errorf("%v\n%s", err, stored)
		}
		again, err := evorl.Parse("x.toml", stored, evorl.Use(catalog))
		if err != nil || len(cfg.Differences(again)) > 0 {
			t.Errorf("read back: %v, %v", err, cfg.Differences(again))
		}
		if _, err := evorl.Parse("x.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), `unknown workflow "climber"`) {
			t.Errorf("without the catalog: %v", err)
		}
	}
	for _, c := range []struct{ text, want string }{
		{strings.Replace(text, "%", "slop", 1), `did you mean "slope"?`},
		{"workflow = \"climbr\"\nenv = \"slope\"\n", `did you mean "climber"?`},
		{strings.Replace(text, "%", "slope", 1) + "[slope]\ndimension = 0\n", "x.toml:6:13: "},
		{strings.Replace(text, "%", "slope", 1) + "stap = 1\n", `did you mean "step"?`},
		{"workflow = \"snes\"\nenv = \"sphere\"\n[climber]\nstep = 1\n", `[climber] is for workflow = "climber", and workflow is "snes"`},
		{"workflow = \"pbt\"\nenv = \"slope\"\n[pbt]\nover = \"climber\"\nsearch = {step = {prior = \"uniform\", low = -1, high = 1}}\n", "want above 0"},
	} {
		if _, err := evorl.Parse("x.toml", []byte(c.text), evorl.Use(catalog)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.text, err, c.want)
		}
	}
	cfg, err := evorl.Parse("x.toml", []byte("workflow = \"pbt\"\nenv = \"slope\"\n[pbt]\nover = \"climber\"\n"), evorl.Use(catalog))
	if err != nil {
		t.Fatal(err)
	}
	if stored, err := cfg.TOML(); err != nil || !strings.Contains(string(stored), "[pbt.search.step]") {
		t.Errorf("PBT does not search the strategy's hyperparameter: %v\n%s", err, stored)
	}
	workflows, problems := catalog.Workflows(), catalog.Problems()
	if last := workflows[len(workflows)-1]; last.Name != "climber" || len(evorl.Workflows()) != len(workflows)-1 {
		t.Errorf("%d workflows, the last %q", len(workflows), last.Name)
	}
	if last := problems[len(problems)-1]; last.Name != "slope" || len(evorl.Problems()) != len(problems)-1 {
		t.Errorf("%d problems, the last %q", len(problems), last.Name)
	}
	at := slices.IndexFunc(workflows, func(w evorl.Workflow) bool { return w.Name == "pbt" })
	sections, err := workflows[at].Sections()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sections {
		if s.Name == "pbt" && !slices.Contains(s.Keys[0].Choices, "climber") {
			t.Errorf("[pbt] %s has the choices %v", s.Keys[0].Name, s.Keys[0].Choices)
		}
	}
}

// Wrong parts are refused, each with its reason.
func TestWrongParts(t *testing.T) {
	named := func(name string) evorl.Part {
		return evorl.OwnStrategy("", func() climber { return climber{name, 1} })
	}
	for _, c := range []struct {
		part evorl.Part
		want string
	}{
		{nil, "a part is nil"},
		{named("ppo"), `strategy "ppo": the name is taken`},
		{named("network"), `strategy "network": the name is taken`},
		{named("a b"), "want a name of letters"},
		{evorl.OwnStrategy("", func() climber { return climber{"c", -1} }), "step"},
		{evorl.OwnStrategy("", (func() climber)(nil)), "no defaults"},
		{evorl.OwnStrategy("", func() *climber { return &climber{"c", 1} }), "want a struct"},
		{evorl.OwnStrategy("", func() ec.Algorithm { return nil }), "want a struct"},
		{evorl.OwnProblem("zdt", "", newSlope), `problem "zdt": the name is taken`},
		{evorl.OwnProblem("search", "", newSlope), `problem "search": the name is taken`},
		{evorl.OwnProblem("p", "", nil), "no settings"},
		{evorl.OwnProblem("p", "", func() evorl.ProblemSettings { return nil }), "want a pointer to a struct"},
		{evorl.OwnEnvironment(nil, nil), "an environment is nil"},
		{evorl.OwnEnvironment(envs.New(envs.Spec{Name: "X"}, "")), "X"},
		{evorl.OwnEnvironment(envs.Lookup("CartPole-v1")), `environment "CartPole-v1": the name is taken`},
	} {
		if _, err := evorl.NewCatalog(c.part); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}

// The configuration of a run with parts that this program does not have says what program has them.
func TestStoredOfOtherProgram(t *testing.T) {
	path := t.TempDir()
	for _, c := range []struct{ text, want string }{
		{"workflow = \"climber\"\nenv = \"CartPole-v1\"\n", `this program does not know workflow "climber"`},
		{"workflow = \"ppo\"\nenv = \"Valley\"\n", `this program does not know environment "Valley"`},
		{"workflow = \"snes\"\nenv = \"slope\"\n", `this program does not know environment or problem "slope"`},
	} {
		if err := os.WriteFile(filepath.Join(path, rundir.ConfigFile), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := evorl.Stored(path)
		const hint = "want the program that began it or another one with the same parts"
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}
