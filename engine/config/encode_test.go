package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEncode(t *testing.T) {
	a := defaults()
	a.Run.Workflow = "pbt"
	a.PPO.Weights = map[string]int{"b c": 2, "a": 1}
	a.Network.Layers = []layer{{3}, {4}}
	var b bytes.Buffer
	if err := Encode(&b, a.sections()); err != nil {
		t.Fatal(err)
	}
	want := `workflow = "pbt"
env = "CartPole-v1"
seed = 0
iterations = 10

[ppo]
members = 4
learning_rate = 0.0003
gae_lambda = 0.95
epochs = 4
anneal = false
slice = "50ms"
level = "low"
small = 0
betas = [0.9, 0.999]
weights = {a = 1, "b c" = 2}

[pbt]
interval = 5

[pbt.search]

[pbt.search.learning_rate]
prior = "log_uniform"
low = 1e-05
high = 0.01

[network]
activation = "tanh"
hidden = [64, 64]
layers = [{units = 3}, {units = 4}]
`
	if b.String() != want {
		t.Errorf("wrote\n%s\nwant\n%s", &b, want)
	}
	b.Reset()
	if err := Encode(&b, Sections{{"ppo", &a.PPO}}, WithDocs()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Step size of Adam. [above 0]\nlearning_rate", "# [at least 1 and at most 100]\nepochs", "[ppo]\n# [at least 1]\nmembers"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	a.PPO.GAELambda = math.NaN()
	if err := Encode(&b, a.sections()); err == nil || !strings.Contains(err.Error(), "ppo.gae_lambda: NaN") {
		t.Errorf("error %v", err)
	}
}

// Any values are read back from their text, and written again as the same text.
func TestEncodeRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	text := func() string {
		runes := []rune("ab\"'\\\n\t\r\x00\x7f \u00e9\u4e16\U0001F600#=[].")
		s := make([]rune, r.IntN(6))
		for i := range s {
			s[i] = runes[r.IntN(len(runes))]
		}
		return string(s)
	}
	for i := range 500 {
		in := defaults()
		in.Run = run{text(), text(), r.Uint64() >> 1, 1 + r.IntN(1000)}
		in.PPO.LearningRate = math.Exp(r.NormFloat64() * 20)
		in.PPO.Small = int8(r.Uint32())
		in.PPO.Slice = time.Millisecond + time.Duration(r.Int64N(int64(time.Second/2)))
		in.PPO.Level, in.PPO.Anneal = level(i%2), i%3 == 0
		if i%2 == 0 {
			kl := float32(math.Exp(r.NormFloat64() * 10))
			in.PPO.TargetKL = &kl
		}
		in.PPO.Weights = map[string]int{text(): r.IntN(9), text(): 3}
		in.PBT.Search = map[string]prior{}
		for range r.IntN(3) {
			in.PBT.Search[text()] = prior{"uniform", -r.Float64(), r.Float64() + 1e-9}
		}
		in.Network.HiddenSize = make([]int, r.IntN(3))
		for i := range in.Network.HiddenSize {
			in.Network.HiddenSize[i] = 1 + r.IntN(512)
		}
		in.Network.Layers = []layer{}
		var opts []EncodeOption
		if i%5 == 0 {
			opts = append(opts, WithDocs())
		}
		var b, again bytes.Buffer
		if err := Encode(&b, in.sections(), opts...); err != nil {
			t.Fatal(err)
		}
		out, err := decode(b.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, &b)
		}
		if !reflect.DeepEqual(in, out) {
			t.Fatalf("read\n%+v\nwant\n%+v\nfrom\n%s", out, in, &b)
		}
		if err := Encode(&again, out.sections(), opts...); err != nil || again.String() != b.String() {
			t.Fatalf("wrote\n%s\nand then\n%s%v", &b, &again, err)
		}
	}
}

func TestSchema(t *testing.T) {
	a := defaults()
	var got []string
	for _, v := range []any{a.Run, &a.PPO, a.PBT, a.Network} {
		keys, err := Schema(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			got = append(got, strings.TrimRight(fmt.Sprintf("%s|%s|%s|%s|%s|%s|%v", k.Name, k.Type, k.Default, k.Doc, k.Range, strings.Join(k.Choices, ","),
				k.Required), "|"))
		}
	}
	want := []string{
		`workflow|string||What to run.|||true`,
		`env|string|"CartPole-v1"|The environment.|||false`,
		`seed|integer|0|Of all random numbers.|||false`,
		`iterations|integer|10||at least 1||false`,
		`members|integer|4||at least 1||false`,
		`learning_rate|number|0.0003|Step size of Adam.|above 0||false`,
		`gae_lambda|number|0.95||at least 0 and at most 1||false`,
		`epochs|integer|4||at least 1 and at most 100||false`,
		`anneal|boolean|false|Lower the learning rate to 0.|||false`,
		`slice|duration|"50ms"||at least 1ms and at most 1s||false`,
		`target_kl|number|||above 0||false`,
		`level|string|"low"|How much to say.|||false`,
		`small|integer|0|A small integer.|||false`,
		`betas|array of number|[0.9, 0.999]||at least 0 and below 1||false`,
		`weights.<name>|integer|||at least 0||false`,
		`interval|integer|5||at least 1||false`,
		`search.<name>.prior|string|"uniform"|The distribution.||uniform,log_uniform|false`,
		`search.<name>.low|number||Smallest value.|||true`,
		`search.<name>.high|number|||||true`,
		`activation|string|"tanh"|||relu,tanh,elu|false`,
		`hidden|array of integer|[64, 64]||at least 1||false`,
		`layers[].units|integer|||at least 1||true`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("schema\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	keys, err := Schema(network{Activation: "relu"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(keys[0])
	if err != nil || string(text) != `{"name":"activation","type":"string","default":"\"relu\"","doc":"","choices":["relu","tanh","elu"]}` {
		t.Errorf("JSON %s, %v", text, err)
	}
	for want, v := range map[string]any{
		`default of epochs is 0: want at least 1`: struct {
			Epochs int `min:"1"`
		}{},
		`default of hidden is [0]: want at least 1`: struct {
			Hidden []int `min:"1"`
		}{[]int{0}},
		`default of a is {x = 0}: want above 0`: struct {
			A map[string]int `above:"0"`
		}{map[string]int{"x": 0}},
		`default of kind is "c": want one of "a"`: struct {
			Kind string `choices:"a"`
		}{"c"},
		`want a struct`: 3,
	} {
		if _, err := Schema(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}
