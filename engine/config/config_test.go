package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The structs below are of the shape that the program's own configuration has.
type run struct {
	Workflow   string `required:"true" doc:"What to run."`
	Env        string `doc:"The environment."`
	Seed       uint64 `doc:"Of all random numbers."`
	Iterations int    `min:"1"`
}

type ppo struct {
	common
	LearningRate float64        `above:"0" doc:"Step size of Adam."`
	GAELambda    float64        `min:"0" max:"1"`
	Epochs       int            `min:"1" max:"100"`
	Anneal       bool           `doc:"Lower the learning rate to 0."`
	Slice        time.Duration  `min:"1ms" max:"1s"`
	TargetKL     *float32       `above:"0" toml:"target_kl"`
	Level        level          `doc:"How much to say."`
	Small        int8           `doc:"A small integer."`
	Betas        [2]float64     `min:"0" below:"1"`
	Weights      map[string]int `min:"0"`
	Hidden       string         `toml:"-"`
}

type common struct {
	Members int `min:"1"`
}

type level int

func (l level) MarshalText() ([]byte, error) {
	if l < 0 || l > 1 {
		return nil, fmt.Errorf("no level %d: want 0 or 1", int(l))
	}
	return []byte([]string{"low", "high"}[l]), nil
}

func (l *level) UnmarshalText(text []byte) error {
	switch string(text) {
	case "low":
		*l = 0
	case "high":
		*l = 1
	default:
		return fmt.Errorf("no level %q: want low or high", text)
	}
	return nil
}

type pbt struct {
	Interval int              `min:"1"`
	Search   map[string]prior `doc:"The hyperparameters to search."`
}

type prior struct {
	Prior string  `choices:"uniform,log_uniform" doc:"The distribution."`
	Low   float64 `required:"true" doc:"Smallest value."`
	High  float64 `required:"true"`
}

func (p *prior) SetDefaults() { p.Prior = "uniform" }

func (p *prior) Validate() error {
	if p.Low >= p.High {
		return Invalid("high", "%v is not above low = %v", p.High, p.Low)
	}
	return nil
}

type network struct {
	Activation string `choices:"relu,tanh,elu"`
	HiddenSize []int  `min:"1" toml:"hidden"`
	Layers     []layer
}

type layer struct {
	Units int `required:"true" min:"1"`
}

type all struct {
	Run     run
	PPO     ppo
	PBT     pbt
	Network network
}

func defaults() *all {
	return &all{
		Run:     run{Env: "CartPole-v1", Iterations: 10},
		PPO:     ppo{common: common{Members: 4}, LearningRate: 3e-4, GAELambda: 0.95, Epochs: 4, Slice: 50 * time.Millisecond, Betas: [2]float64{0.9, 0.999}},
		PBT:     pbt{Interval: 5, Search: map[string]prior{"learning_rate": {"log_uniform", 1e-5, 1e-2}}},
		Network: network{Activation: "tanh", HiddenSize: []int{64, 64}},
	}
}

func (a *all) sections() Sections {
	return Sections{{"", &a.Run}, {"ppo", &a.PPO}, {"pbt", &a.PBT}, {"network", &a.Network}}
}

func decode(text string, overrides ...Override) (*all, error) {
	a := defaults()
	d, err := Parse("a.toml", []byte(text), overrides...)
	if err == nil {
		err = d.Decode(a.sections())
	}
	return a, err
}

func TestDecode(t *testing.T) {
	got, err := decode(`
workflow = "pbt"    # a comment with = and [brackets]
seed = 7
"iterations" = 1_000
ppo.epochs = 8
pbt = { interval = 3, search = { "clip.epsilon" = { low = 0.1, high = 1, prior = "uniform" } } }

[network]
hidden = [ 32,
  16, # the last
]
[[network.layers]]
units = 3
[[network.layers]]
units = 4
`, Set("ppo.learning_rate=1"), Set("ppo.slice = 1s"), Set("ppo.target_kl=0.5"),
		Set("ppo.level=high"), Set("ppo.betas=[0,0.5]"), Set("env=Pendulum-v1"), Set("ppo.members=2"), Set("ppo.weights.a=3"))
	if err != nil {
		t.Fatal(err)
	}
	kl := float32(0.5)
	want := defaults()
	want.Run = run{"pbt", "Pendulum-v1", 7, 1000}
	want.PPO.Epochs, want.PPO.LearningRate, want.PPO.Slice, want.PPO.TargetKL, want.PPO.Level = 8, 1, time.Second, &kl, 1
	want.PPO.Betas, want.PPO.Members, want.PPO.Weights = [2]float64{0, 0.5}, 2, map[string]int{"a": 3}
	want.PBT = pbt{3, map[string]prior{"clip.epsilon": {"uniform", 0.1, 1}}}
	want.Network.HiddenSize, want.Network.Layers = []int{32, 16}, []layer{{3}, {4}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// An element of a map starts from the default of its name, or from SetDefaults.
func TestElementDefaults(t *testing.T) {
	got, err := decode("workflow = 'x'\n[pbt.search]\nlearning_rate = {high = 1}\nclip = {low = 0, high = 1}", Set("pbt.search.clip.high=2"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]prior{"learning_rate": {"log_uniform", 1e-5, 1}, "clip": {"uniform", 0, 2}}
	if !reflect.DeepEqual(got.PBT.Search, want) {
		t.Errorf("search %v; want %v", got.PBT.Search, want)
	}
}

func TestPeek(t *testing.T) {
	d, err := Parse("a.toml", []byte("whatever = 3\nworkflow = 'x'\n[nonsense]\na = 1"))
	if err != nil {
		t.Fatal(err)
	}
	var r run
	if err := d.Peek("", &r); err != nil || r.Workflow != "x" {
		t.Errorf("peeked %+v, %v", r, err)
	}
	for text, want := range map[string]string{"[s]\nother = 3\nworkflow = 'y'": "y", "s = 3": "default", "workflow = 'z'": "default"} {
		d, err := Parse("a.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		of := struct{ Workflow string }{"default"}
		if err := d.Peek("s", &of); err != nil || of.Workflow != want {
			t.Errorf("%q: peeked %q, %v; want %q", text, of.Workflow, err, want)
		}
	}
	d, err = Parse("a.toml", []byte("workflow = 3"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Peek("", &r); err == nil || !strings.Contains(err.Error(), "a.toml:1:12:") {
		t.Errorf("error %v", err)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.toml")
	if err := os.WriteFile(path, []byte("\ufeffworkflow = 'x'\r\nsed = 3\r\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Decode(defaults().sections())
	want := path + ":2:1: unknown key \"sed\" at the top level\n  sed = 3\n  ^^^\ndid you mean \"seed\"?"
	if err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
	if _, err := Read(filepath.Join(dir, "absent.toml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("error %v", err)
	}
}

// Errors that the caller finds are reported at their place too.
func TestCallersErrors(t *testing.T) {
	d, err := Parse("a.toml", []byte("env = 'CartPol-v1'\n[pbt.search.learning_rat]\nlow = 1"), Set("workflow=pbo"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{d.UnknownValue("env", "environment", []string{"Pendulum-v1", "CartPole-v1"}),
			"a.toml:1:7: unknown environment \"CartPol-v1\"\n  env = 'CartPol-v1'\n        ^^^^^^^^^^^^\ndid you mean \"CartPole-v1\"?"},
		{d.UnknownValue("workflow", "workflow", []string{"pbt", "es"}), "--set: unknown workflow \"pbo\"\n  workflow=pbo\n           ^^^\ndid you mean \"pbt\"?"},
		{d.Locate(Unknown("pbt.search.learning_rat", "hyperparameter", []string{"learning_rate"})),
			"a.toml:2:13: unknown hyperparameter \"learning_rat\"\n  [pbt.search.learning_rat]\n              ^^^^^^^^^^^^\ndid you mean \"learning_rate\"?"},
		{d.Errorf("pbt.search.learning_rat.low", "too %s", "low"), "a.toml:3:7: too low\n  low = 1\n        ^"},
		{d.Errorf("pbt.search.learning_rat.high", "missing"),
			"a.toml:2:1: \"pbt.search.learning_rat.high\": missing\n  [pbt.search.learning_rat]\n  ^^^^^^^^^^^^^^^^^^^^^^^^^"},
	} {
		if c.err.Error() != c.want {
			t.Errorf("error\n%v\nwant\n%s", c.err, c.want)
		}
	}
	var at *Error
	if err := d.Locate(os.ErrNotExist); err != os.ErrNotExist || d.Locate(nil) != nil || !errors.As(d.Errorf("env", "no"), &at) {
		t.Errorf("located: %v, %v; want errors without a key as they are", err, d.Locate(nil))
	}
	if !d.Defined("pbt.search.learning_rat.low") || d.Defined("pbt.interval") || !d.Defined("workflow") {
		t.Error("Defined is wrong")
	}
}

func TestDeclarationErrors(t *testing.T) {
	d, err := Parse("a.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, value := range map[string]any{
		"want a pointer to a struct": run{},
		"not <nil>":                  nil,
		"cannot be configured":       &struct{ A chan int }{},
		"two fields named a": &struct {
			A, B int `toml:"a"`
		}{},
		"two tags for the same bound": &struct {
			A int `min:"1" above:"1"`
		}{},
		"invalid syntax": &struct {
			A int `min:"x"`
		}{},
		"is for numbers": &struct {
			A string `min:"1"`
		}{},
		"is for strings": &struct {
			A int `choices:"1"`
		}{},
		"must be a string":  &struct{ A map[int]int }{},
		"needs MarshalText": &struct{ A unmarshalOnly }{},
	} {
		if err := d.Decode(Sections{{"x", value}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	if err := d.Decode(Sections{{"x", &run{}}, {"x", &run{}}}); err == nil || !strings.Contains(err.Error(), "two sections") {
		t.Errorf("error %v", err)
	}
}

type unmarshalOnly int

func (*unmarshalOnly) UnmarshalText([]byte) error { return nil }

func TestSnake(t *testing.T) {
	for in, want := range map[string]string{"LearningRate": "learning_rate", "GAELambda": "gae_lambda", "Seed": "seed", "TargetKL": "target_kl",
		"K": "k", "ClipEpsilon2": "clip_epsilon2"} {
		if got := snake(in); got != want {
			t.Errorf("%s is %s; want %s", in, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	valid := []string{"learning_rate", "discount", "epochs", "gae_lambda", "clip_epsilon", "lr_decay"}
	for in, want := range map[string]string{
		"learning_rat": "learning_rate", "learnign_rate": "learning_rate", "Learning-Rate": "learning_rate", "epoch": "epochs", "disc": "discount",
		"gl": "gae_lambda", "gamma": "", "x": "", "": "", "clip_eps": "clip_epsilon", "clip": "clip_epsilon", "pochse": "epochs",
	} {
		if got := Nearest(in, valid); got != want {
			t.Errorf("nearest to %q is %q; want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"hoper": "Hopper-v5", "hopper_v4": "Hopper-v5", "walker-v5": "Walker2d-v5", "Breakout-v5": ""} {
		if got := Nearest(in, []string{"Hopper-v5", "Walker2d-v5"}); got != want {
			t.Errorf("nearest to %q is %q; want %q", in, got, want)
		}
	}
	if d := editDistance("ca", "abc"); d != 3 {
		t.Errorf("distance %d; want 3 of optimal string alignment", d)
	}
	if d := editDistance("kitten", "sitting"); d != 3 {
		t.Errorf("distance %d; want 3", d)
	}
}
