package evorl_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

func parse(t *testing.T, text string, set ...string) (*evorl.Config, error) {
	t.Helper()
	var overrides []evorl.Option
	for _, s := range set {
		overrides = append(overrides, evorl.Set(s))
	}
	return evorl.Parse("x.toml", []byte(text), overrides...)
}

// several reports whether a workflow is for several objectives.
func several(w evorl.Workflow) bool {
	return w.Name == "nsga-ii" || w.Name == "nsga-iii" || w.Name == "moead"
}

func TestWrongConfigurations(t *testing.T) {
	for _, c := range []struct {
		name, text string
		set        []string
		want       []string
	}{
		{"no workflow", "env = \"CartPole-v1\"\n", nil, []string{"x.toml:1:1", `"workflow" is missing`}},
		{"unknown workflow", "workflow = \"pppo\"\nenv = \"CartPole-v1\"\n", nil, []string{"x.toml:1:12", `unknown workflow "pppo"`, `did you mean "ppo"?`}},
		{"no environment", "workflow = \"ppo\"\n", nil, []string{`"env" is missing`}},
		{"unknown environment", "workflow = \"ppo\"\nenv = \"CartPol\"\n", nil,
			[]string{"x.toml:2:7", `unknown environment "CartPol"`, `did you mean "CartPole-v1"?`}},
		{"unknown key", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[ppo]\nlearning_rat = 1.0\n", nil,
			[]string{"x.toml:4:1", `unknown key "learning_rat" in [ppo]`, `did you mean "learning_rate"?`}},
		{"another workflow's section", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[nets]\n", nil, []string{"unknown section [nets]"}},
		{"wrong type", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[ppo]\nepochs = \"four\"\n", nil, []string{"x.toml:4:10", "epochs", "integer"}},
		{"out of range", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n", []string{"ppo.members=0"}, []string{"--set", "members", "at least 1"}},
		{"seed too large", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\nseed = 4294967296\n", nil, []string{"x.toml:3:8", "4294967295"}},
		{"too many minibatches", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[ppo]\nenvironments = 1\nrollout_length = 2\nminibatches = 3\n", nil,
			[]string{"x.toml:6:15", "3 minibatches of 2 transitions"}},
		{"endless episodes", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[environment]\ntime_limit = -1\n", nil, []string{"x.toml:4:14", "time limit"}},
		{"a cooperative form that is not there", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[environment]\nmapping = \"cooperative\"\n", nil,
			[]string{"x.toml:4:11", `"CartPole-v1" has no form`}},
		{"an action repeat of too much work", "workflow = \"ppo\"\nenv = \"Humanoid-v5\"\n[environment]\naction_repeat = 1000\n", nil,
			[]string{"x.toml:4:17", "too much work for one dispatch"}},
		{"a course of learning rates of ERL's agents", "workflow = \"erl\"\nenv = \"Pendulum-v1\"\n[td3]\nanneal_steps = 1000\n", nil,
			[]string{"x.toml:4:16", "want 0, learning rates that are constant"}},
		{"a slow start of CEM-RL's agents", "workflow = \"cem-rl\"\nenv = \"Pendulum-v1\"\n[td3]\nwarmup_steps = 1000\n", nil,
			[]string{"x.toml:4:16", "want 0, learning rates that are constant"}},
		{"a record that begins anew", "workflow = \"ppo\"\nenv = \"FaultMaze-v0\"\n[environment]\nauto_reset = \"fast\"\n", nil,
			[]string{"x.toml:4:14", "records what is met"}},
		{"an odd population", "workflow = \"openes\"\nenv = \"CartPole-v1\"\n[openes]\npopulation = 33\n", nil, []string{"x.toml:4:14", "cannot be mirrored"}},
		{"low rank of numbers", "workflow = \"openes\"\nenv = \"sphere\"\n[openes]\nrank = 1\n", nil,
			[]string{"x.toml:4:8", "rank 1 is for networks", "sphere has other candidates"}},
		{"low rank in lanes", "workflow = \"ars\"\nenv = \"CartPole-v1\"\n[policy]\nplacement = \"lanes\"\n[ars]\nrank = 2\n", nil,
			[]string{"x.toml:6:8", "policy.placement lanes"}},
		{"low rank of a hybrid", "workflow = \"dvd-es\"\nenv = \"Pendulum-v1\"\n[openes]\nrank = 2\n", nil,
			[]string{"x.toml:4:8", "openes with rank 2"}},
		{"a small noise table", "workflow = \"openes\"\nenv = \"CartPole-v1\"\n[openes]\nnoise_table = 100\n", nil,
			[]string{"x.toml:3", "a noise table of 100 numbers", "at least 776"}},
		{"bins of discrete actions", "workflow = \"openes\"\nenv = \"CartPole-v1\"\n[policy]\nbins = 5\n", nil, []string{"x.toml:4:8", "discrete already"}},
		{"one bin", "workflow = \"pgpe\"\nenv = \"Pendulum-v1\"\n[policy]\nbins = 1\n", nil, []string{"x.toml:4:8", "no choice"}},
		{"too deep", "workflow = \"ga\"\nenv = \"CartPole-v1\"\n[network]\nhidden = [1,2,3,4,5,6,7,8,9]\n", nil, []string{"x.toml:4:10", "9 hidden layers"}},
		{"unknown normalization", "workflow = \"ars\"\nenv = \"CartPole-v1\"\n[network]\nnormalize_obs = \"vbn\"\n", nil, []string{"x.toml:4:17", "virtual_batch"}},
		{"an option of no environment", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[task]\nhealthy_reward = 2.0\n", nil,
			[]string{"x.toml:3:2", "unknown section [task]"}},
		{"another environment's option", "workflow = \"ppo\"\nenv = \"Swimmer-v5\"\n[task]\nhealthy_reward = 2.0\n", nil,
			[]string{"x.toml:4:1", `unknown key "healthy_reward" in [task]`}},
		{"an option out of range", "workflow = \"ppo\"\nenv = \"Hopper-v5\"\n[task]\nreset_noise_scale = -1.0\n", nil, []string{"x.toml:4:21", "at least 0"}},
		{"behaviour of a missing observation", "workflow = \"map-elites\"\nenv = \"CartPole-v1\"\n[behaviour]\nobservations = [0, 4]\n", nil,
			[]string{"x.toml:4:16", "want 0 to 3"}},
		{"behaviour without bounds", "workflow = \"cvt-map-elites\"\nenv = \"CartPole-v1\"\n[behaviour]\nobservations = [1]\n", nil,
			[]string{"x.toml:3:1", "observation 1 of \"CartPole-v1\" is told apart from -Inf"}},
		{"auto-reset", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[environment]\nauto_reset = \"disabled\"\n", nil,
			[]string{"x.toml:4:14", "\"normal\" or \"fast\""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(t, c.text, c.set...)
			var of *config.Error
			if !errors.As(err, &of) {
				t.Fatalf("error %v; want a *config.Error", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error\n%v\nlacks %q", err, w)
				}
			}
		})
	}
}

// The configuration that a run stores is decoded unchanged.
func TestTOMLRoundTrip(t *testing.T) {
	for _, w := range evorl.Workflows() {
		if several(w) {
			continue // these have no environment; see TestProblems
		}
		env, ok := home(w)
		if !ok {
			env = "Pendulum-v1"
		}
		first, err := parse(t, "workflow = \""+w.Name+"\"\nenv = \""+env+"\"\nseed = 9\n", "network.hidden=[8]", "environment.auto_reset=fast")
		if err != nil {
			t.Fatal(err)
		}
		text, err := first.TOML()
		if err != nil {
			t.Fatal(err)
		}
		second, err := parse(t, string(text))
		if err != nil {
			t.Fatalf("%v\nin\n%s", err, text)
		}
		again, err := second.TOML()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, again) || second.Run.Seed != 9 || second.Environment.AutoReset != envs.Fast {
			t.Errorf("%s: wrote\n%s\nand then\n%s", w.Name, text, again)
		}
	}
}

// Every key of every workflow is documented.
func TestEveryKeyIsDocumented(t *testing.T) {
	for _, w := range evorl.Workflows() {
		if w.Summary == "" || w.Source == "" {
			t.Errorf("workflow %q lacks a summary or a source", w.Name)
		}
		sections, err := w.Sections()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sections {
			for _, k := range s.Keys {
				if k.Doc == "" {
					t.Errorf("%s: key %s of [%s] has no documentation", w.Name, k.Name, s.Name)
				}
			}
		}
	}
}

// Every problem is documented, can be solved by every search that suits its numbers of objectives and descriptors and
// by nothing else, and its configuration is decoded unchanged.
func TestProblems(t *testing.T) {
	searches := 0
	for _, p := range evorl.Problems() {
		sections, err := p.Sections()
		if err != nil {
			t.Fatal(err)
		}
		var names, settings []string
		for _, section := range sections {
			names = append(names, section.Name)
			for _, k := range section.Keys {
				if k.Doc == "" {
					t.Errorf("problem %s: key %s has no documentation", p.Name, k.Name)
				}
				if k.Required && !strings.Contains(k.Name, "[]") {
					settings = append(settings, section.Name+"."+k.Name+"=1")
				}
			}
		}
		want := []string{p.Name}
		switch p.Name {
		case "mnist", "addition":
			want = []string{"task", "network"}
		case "painting":
			want = []string{"task"}
		}
		if p.Summary == "" || p.Source == "" || !slices.Equal(names, want) {
			t.Errorf("problem %q lacks a summary or a source, or has the sections %v; want %v", p.Name, names, want)
		}
		for _, w := range evorl.Workflows() {
			first, err := parse(t, "workflow = \""+w.Name+"\"\nenv = \""+p.Name+"\"\n", settings...)
			if _, agent := home(w); agent || composed(w) {
				if err == nil || !strings.Contains(err.Error(), "is a problem") {
					t.Errorf("%s on %s: %v; want an error", w.Name, p.Name, err)
				}
				continue
			}
			refused := ""
			switch ofSeveral := p.Name == "zdt" || p.Name == "dtlz" || p.Name == "lineups"; {
			case several(w) && !ofSeveral:
				refused = "is for several"
			case !several(w) && ofSeveral:
				refused = "maximises one"
			case strings.Contains(w.Name, "map-elites") && p.Name != "arm":
				refused = "does not describe"
			}
			if refused != "" {
				if err == nil || !strings.Contains(err.Error(), refused) || !strings.Contains(err.Error(), "x.toml:2:7") {
					t.Errorf("%s on %s: %v; want an error that says that it %s", w.Name, p.Name, err, refused)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s on %s: %v", w.Name, p.Name, err)
				continue
			}
			searches++
			text, err := first.TOML()
			if err != nil {
				t.Fatal(err)
			}
			second, err := parse(t, string(text))
			if err != nil {
				t.Fatalf("%v\nin\n%s", err, text)
			}
			again, err := second.TOML()
			network := strings.Contains(string(text), "[network]")
			if err != nil || !bytes.Equal(text, again) || network != slices.Contains(names, "network") || strings.Contains(string(text), "[environment]") {
				t.Errorf("%s on %s: wrote\n%s\nand then\n%s (%v)", w.Name, p.Name, text, again, err)
			}
		}
	}
	if searches < 13*(len(evorl.Problems())-2)+6 {
		t.Errorf("%d searches of problems", searches)
	}
	for _, c := range []struct{ text, want string }{
		{"workflow = \"snes\"\nenv = \"bbob\"\n[bbob]\nfunction = 30", "want 1 to 24"},
		{"workflow = \"snes\"\nenv = \"bbob\"\n[bbob]\nfunction = 3\n[network]\n",
			"[network] is for policies, and env = \"bbob\" is a problem, whose settings are in [bbob]: want an environment"},
		{"workflow = \"snes\"\nenv = \"sphere\"\n[bbob]\nfunction = 3", "[bbob] is for env = \"bbob\", and env is \"sphere\""},
		{"workflow = \"snes\"\nenv = \"spere\"", "did you mean \"sphere\"?"},
		{"workflow = \"snes\"\nenv = \"sphere\"\n[environment]\ntime_limit = 3", "[environment] is for policies, and env = \"sphere\" is a problem"},
		{"workflow = \"nsga-ii\"\nenv = \"CartPole-v1\"\n[policy]\ncap = true",
			"[policy] is for policies, and nsga-ii solves problems of several objectives"},
		{"workflow = \"ars\"\nenv = \"CartPole-v1\"\n[openes]\npopulation = 8", "[openes] is for workflow = \"openes\" or \"dvd-es\", and workflow is \"ars\""},
		{"workflow = \"ars\"\nenv = \"CartPole-v1\"\n[behaviour]\nbins = 8",
			"[behaviour] is for workflow = \"map-elites\" or \"cvt-map-elites\" or another search, and workflow is \"ars\""},
		{"workflow = \"ppo\"\nenv = \"CartPole-v1\"\n[policy]\ncap = true",
			"[policy] is for workflow = \"openes\" or \"vanilla-es\" or another search, and"},
		{"workflow = \"ars\"\nenv = \"CartPole-v1\"\n[task]\nx = 8", "CartPole-v1 has no options of its own"},
		{"workflow = \"ars\"\nenv = \"CartPole-v1\"\n[zdt]\nfunction = 8", "[zdt] is for env = \"zdt\", and env is \"CartPole-v1\""},
		{"workflow = \"ars\"\nenv = \"CartPole-v1\"\n[evalution]\nevery = 8", "did you mean \"evaluation\"?"},
		{"workflow = \"ars\"\nenv = \"CartPole-v1\"\npolicy.cap = 8\n[bbob]", "wants a boolean"},
		{"workflow = \"nsga-ii\"\nenv = \"CartPole-v1\"", "its return, and nsga-ii is for several"},
		{"workflow = \"nsga-ii\"\nenv = \"dtlz\"\n[dtlz]\nfunction=5\nobjectives=4", "front of DTLZ5 with 4 objectives is not known"},
		{"workflow = \"nsga-ii\"\nenv = \"dtlz\"\n[dtlz]\nfunction=1\ndimension=2", "want at least as many dimensions as objectives"},
		{"workflow = \"moead\"\nenv = \"dtlz\"\n[dtlz]\nfunction=2\n[moead]\npopulation=2", "a population of 2 for 3 objectives; want at least 3"},
		{"workflow = \"nsga-iii\"\nenv = \"dtlz\"\n[dtlz]\nfunction=2\n[nsga-iii]\npopulation=90\npartitions=[12]",
			"[12] give 91 points for 3 objectives and a population of 90"},
		{"workflow = \"moead\"\nenv = \"zdt\"\n[zdt]\nfunction=7", "at most 6"},
		{"workflow = \"nsga-ii\"\nenv = \"lineups\"\n[lineups]\nteams=9", "at most 8"},
		{"workflow = \"pbt\"\nenv = \"CartPole-v1\"\n[pbt]\nobjective=\"coverage\"", "records no states that agents visit"},
		{"workflow = \"pbt\"\nenv = \"FaultMaze-v0\"\n[pbt]\nover=\"openes\"\nobjective=\"coverage\"", "coverage is of the episodes of agents"},
		{"workflow = \"map-elites\"\nenv = \"arm\"\n[behaviour]\nobservations = [0]", "[behaviour] is for policies, and env = \"arm\" is a problem"},
		{"workflow = \"ppo\"\nenv = \"spere\"", "unknown environment \"spere\""},
	} {
		if _, err := parse(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n%v; want it to say %s", c.text, err, c.want)
		}
	}
}

// The configurations in the repository are valid.
func TestShippedConfigurations(t *testing.T) {
	files, err := filepath.Glob("configs/*.toml")
	more, _ := filepath.Glob("configs/*/*.toml")
	if err != nil || len(files) == 0 || len(more) == 0 {
		t.Fatalf("no configurations: %v", err)
	}
	files = append(files, more...)
	for _, f := range files {
		if _, err := evorl.Read(f); err != nil {
			t.Error(err)
		}
	}
	if !slices.Contains(files, "configs/pbt.toml") {
		t.Error("there is no configs/pbt.toml, which make run runs")
	}
}

func TestAMissingFileIsTheSystemsError(t *testing.T) {
	_, err := evorl.Read(filepath.Join(t.TempDir(), "none.toml"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v; want one of a file that does not exist", err)
	}
}

// An environment of a catalog is found only with that catalog.
func TestOwnEnvironment(t *testing.T) {
	const glsl = "// environment: Still\n#define STATE_SIZE 1\n#define OBS_SIZE 1\n#define ACTION_SIZE 2\n#define DISCRETE 1\n"
	spec := envs.Spec{
		Name: "Still", Summary: "nothing moves", Source: "this test",
		Observation: envs.Symmetric(1), Action: envs.Discrete(2), State: []string{"x"}, MaxSteps: 10,
	}
	catalog, err := evorl.NewCatalog(evorl.OwnEnvironment(envs.New(spec, glsl)))
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("workflow = \"ppo\"\nenv = \"Still\"\n")
	cfg, err := evorl.Parse("x.toml", text, evorl.Use(catalog))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Env().Name != "Still" {
		t.Errorf("environment %q", cfg.Env().Name)
	}
	if _, err := evorl.Parse("x.toml", text); err == nil {
		t.Error("the environment is known without its catalog too")
	}
}

// TestTask: the options of an environment come from [task], and are encoded there.
func TestTask(t *testing.T) {
	cfg, err := parse(t, "workflow = \"ppo\"\nenv = \"Hopper-v5\"\n[task]\nhealthy_z_range = [0.5, 2.0]\nterminate_when_unhealthy = false\n")
	if err != nil {
		t.Fatal(err)
	}
	want := envs.DefaultHopperOptions()
	want.HealthyZRange, want.TerminateWhenUnhealthy = [2]float32{0.5, 2}, false
	if got := cfg.Env().Options; got != want {
		t.Errorf("options %+v; want %+v", got, want)
	}
	text, err := cfg.TOML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := evorl.Parse("again.toml", text)
	if err != nil || again.Env().Options != want {
		t.Errorf("read back: %v, %+v", err, again)
	}
}

// Members are independent where nothing of one reaches another.
func TestIndependent(t *testing.T) {
	for _, c := range []struct {
		workflow string
		set      []string
		want     bool
	}{
		{"ppo", nil, true}, {"snes", nil, true}, {"td3", nil, true}, {"td3", []string{"replay.shared=true"}, false},
		{"erl", nil, true}, {"erl", []string{"replay.shared=true"}, false},
		{"erl", []string{"erl.agents=2", "td3.members=4", "replay.shared=true"}, false},
		{"cem-rl", nil, true}, {"cem-rl", []string{"replay.shared=true"}, false}, {"pga-me", nil, true}, {"qd-pg", nil, false},
		{"dvd", nil, false}, {"dvd-es", nil, false}, {"pbt", nil, false}, {"pbt-cso", nil, false}, {"emogi", nil, false},
		{"pbt", []string{"pbt.over=erl"}, false},
	} {
		cfg, err := parse(t, "workflow = \""+c.workflow+"\"\nenv = \"Pendulum-v1\"\n", c.set...)
		if err != nil {
			t.Errorf("%s %v: %v", c.workflow, c.set, err)
		} else if cfg.Independent() != c.want {
			t.Errorf("%s %v: %v; want %v", c.workflow, c.set, cfg.Independent(), c.want)
		}
	}
}
