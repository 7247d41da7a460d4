package optim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/internal/vktest"
)

func TestMain(m *testing.M) { vktest.Main(m) }

func open(t *testing.T) *engine.Engine {
	t.Helper()
	return engine.New(vktest.Device(t))
}

// trained is an optimizer with a random gradient, and the models of its members.
type trained struct {
	*Optimizer
	gradient    *engine.Tensor
	row, splits int
	models      []*model
}

// newTrained makes an optimizer of random parameters. Its members have different learning rates.
func newTrained(t *testing.T, s *engine.State, cfg Config, members, row, splits int) *trained {
	t.Helper()
	p := engine.Members(members)
	rate := s.Tensor("rate", engine.Float32, p)
	o := &trained{Optimizer: New(s, cfg, rate, row), row: row, splits: splits}
	o.gradient = s.Scratch("gradient", engine.Float32, engine.Axis("split", splits), p, engine.Axis("parameter", row))
	var rates, params []float32
	for m := range members {
		model := &model{Config: cfg, rate: float64(float32(0.01 / float64(m+1))), first: make([]float64, row), second: make([]float64, row)}
		rates = append(rates, float32(model.rate))
		for range row {
			w := float32(rand.NormFloat64())
			params, model.params = append(params, w), append(model.params, float64(w))
		}
		o.models = append(o.models, model)
	}
	for _, moment := range []*engine.Tensor{o.first, o.second} {
		write(t, moment, make([]float32, moment.Len()))
	}
	for _, count := range []*engine.Tensor{o.count, o.refuse} {
		if err := count.WriteUint32(t.Context(), make([]uint32, members)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, rate, rates)
	write(t, o.params, params)
	return o
}

func write(t *testing.T, x *engine.Tensor, values []float32) {
	t.Helper()
	if err := x.WriteFloat32(t.Context(), values); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, x *engine.Tensor) []float32 {
	t.Helper()
	values, err := x.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// draw writes a new gradient, not finite for member broken (-1: none), and returns it summed over splits.
func (o *trained) draw(t *testing.T, broken int) [][]float64 {
	t.Helper()
	values, sums := make([]float32, o.gradient.Len()), make([][]float64, len(o.models))
	for i := range values {
		m := i / o.row % len(o.models)
		if values[i] = float32(rand.NormFloat64()); m == broken && i%o.row == o.row-1 {
			values[i] = float32(math.NaN())
		}
		if sums[m] == nil {
			sums[m] = make([]float64, o.row)
		}
		sums[m][i%o.row] += float64(values[i])
	}
	write(t, o.gradient, values)
	return sums
}

// check compares parameters and moments with the models.
func (o *trained) check(t *testing.T, what string) {
	t.Helper()
	params, first, second := read(t, o.params), read(t, o.first), read(t, o.second)
	for m, model := range o.models {
		for _, c := range []struct {
			name string
			got  []float32
			want []float64
		}{{"parameters", params, model.params}, {"first moments", first, model.first}, {"second moments", second, model.second}} {
			got, size := c.got[m*o.row:], 1e-30
			for _, w := range c.want {
				size = max(size, math.Abs(w))
			}
			for i, w := range c.want {
				if !(math.Abs(float64(got[i])-w) <= 2e-6*size) {
					t.Fatalf("%s: %s of member %d: element %d is %v, want %v", what, c.name, m, i, got[i], w)
				}
			}
		}
	}
}

// Two optimizers with different rows, splits and learning rates, clipped to the norm of both. If one gradient is not
// finite, neither steps.
func TestGroup(t *testing.T) {
	eng := open(t)
	adam := Default(Adam)
	adam.Epsilon = 1e-5
	for _, c := range []struct {
		cfg     Config
		members int
		maxNorm float64
		rows    [2]int
		splits  [2]int
	}{
		{adam, 3, 4, [2]int{516, 36}, [2]int{2, 3}}, {Default(RMSProp), 1, 0.5, [2]int{4, 1028}, [2]int{1, 1}},
		{Default(SGD), 17, 0, [2]int{12, 8}, [2]int{1, 2}}, {Default(AdamW), 3, 1e9, [2]int{132, 64}, [2]int{1, 1}},
		{adam, 2, 2, [2]int{262156, 1 << 18}, [2]int{2, 1}}, {adam, 1, 2, [2]int{64, 262156}, [2]int{1, 3}}, // in parts
	} {
		t.Run(fmt.Sprintf("%v/%d members", c.cfg.Rule, c.members), func(t *testing.T) {
			s := eng.NewState()
			defer s.Close()
			a := newTrained(t, s.Sub("a"), c.cfg, c.members, c.rows[0], c.splits[0])
			b := newTrained(t, s.Sub("b"), c.cfg, c.members, c.rows[1], c.splits[1])
			for _, model := range append(a.models, b.models...) {
				model.MaxNorm = c.maxNorm
			}
			group, err := NewGroup(c.maxNorm, a.Optimizer, b.Optimizer)
			if err != nil {
				t.Fatal(err)
			}
			program, err := eng.Record("group", func(r *engine.Recorder) { group.Step(r, a.gradient, b.gradient) })
			if err != nil {
				t.Fatal(err)
			}
			defer program.Free()
			const steps, refused = 5, 2
			for step := range steps {
				broken := [2]int{-1, -1}
				if step == 1 || step == 3 { // once for each optimizer
					broken[step/2] = c.members - 1
				}
				ga, gb := a.draw(t, broken[0]), b.draw(t, broken[1])
				if err := program.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				norms := read(t, group.Norm())
				for m := range c.members {
					norm := norm2(ga[m], gb[m])
					want := a.models[m].updateWith(ga[m], norm)
					b.models[m].updateWith(gb[m], norm)
					if !(math.Abs(float64(norms[m])-want) <= 2e-6*math.Abs(want)) {
						t.Fatalf("step %d: norm of member %d is %v, want %v", step, m, norms[m], want)
					}
				}
			}
			a.check(t, "first")
			b.check(t, "second")
			for _, o := range []*trained{a, b} {
				counts, err := o.Refused().ReadUint32(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got := counts[c.members-1]; got != refused {
					t.Errorf("the last member refused %d gradients; want %d", got, refused)
				}
			}
		})
	}
}

func TestGroupErrors(t *testing.T) {
	eng := open(t)
	s := eng.NewState()
	defer s.Close()
	made := 0
	of := func(members int, change func(*Config)) *trained {
		cfg := Default(Adam)
		if change != nil {
			change(&cfg)
		}
		made++
		return newTrained(t, s.Sub(fmt.Sprint("optimizer_", made)), cfg, members, 8, 1)
	}
	a, b := of(3, nil), of(3, nil)
	for _, c := range []struct {
		want    string
		maxNorm float64
		second  *trained
	}{
		{"of 3 and of 2 members", 1, of(2, nil)},
		{"differ in rule: adam and sgd", 1, of(3, func(c *Config) { c.Rule = SGD })},
		{"differ in epsilon: 1e-08 and 0.1", 1, of(3, func(c *Config) { c.Epsilon = 0.1 })},
		{"clipup", 1, of(3, func(c *Config) { *c = Default(ClipUp) })},
		{"norms 0 and 2", 1, of(3, func(c *Config) { c.MaxNorm = 2 })},
		{"norm -1", -1, b}, {"norm NaN", math.NaN(), b}, {"one optimizer", 1, a},
	} {
		if _, err := NewGroup(c.maxNorm, a.Optimizer, c.second.Optimizer); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v; want one with %q", err, c.want)
		}
	}
	group, err := NewGroup(1, a.Optimizer, b.Optimizer)
	if err != nil {
		t.Fatal(err)
	}
	fails := func(want string, first, second *engine.Tensor) {
		t.Helper()
		_, err := eng.Record("group", func(r *engine.Recorder) { group.Step(r, first, second) })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one with %q", err, want)
		}
	}
	fails("gradient optimizer_1/rate", a.rate, b.gradient)
	b.Follow(a.params, a.rate)
	fails("has a target", a.gradient, b.gradient)
}

// Targets follow the parameters of every update, also of members with a refused gradient.
func TestFollow(t *testing.T) {
	eng := open(t)
	for _, c := range []struct {
		rule                 Rule
		members, row, splits int
	}{{Adam, 1, 516, 2}, {SGD, 3, 12, 1}, {RMSProp, 17, 36, 3}, {AdamW, 3, 132, 1}, {ClipUp, 2, 8, 1}} {
		t.Run(fmt.Sprintf("%v/%d members", c.rule, c.members), func(t *testing.T) {
			s := eng.NewState()
			defer s.Close()
			o := newTrained(t, s, Default(c.rule), c.members, c.row, c.splits)
			p := engine.Members(c.members)
			tau := s.Tensor("tau", engine.Float32, p)
			target := s.Tensor("target", engine.Float32, p, nn.Networks(2), engine.Axis("parameter", c.row/2)) // of another shape
			shares, begin, want := make([]float32, c.members), make([]float32, c.members*c.row), make([]float64, c.members*c.row)
			for i := range shares {
				shares[i] = []float32{0.005, 1, 0}[i%3]
			}
			for i := range begin {
				begin[i] = float32(rand.NormFloat64())
				want[i] = float64(begin[i])
			}
			write(t, tau, shares)
			write(t, target, begin)
			o.Follow(target, tau)
			program, err := eng.Record("follow", func(r *engine.Recorder) { o.Step(r, o.gradient) })
			if err != nil {
				t.Fatal(err)
			}
			defer program.Free()
			for step := range 4 {
				broken := -1
				if step == 2 {
					broken = 0
				}
				o.draw(t, broken)
				if err := program.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				got, params := read(t, target), read(t, o.params)
				for i := range want {
					share := float64(shares[i/c.row])
					want[i] = (1-share)*want[i] + share*float64(params[i])
					// Four roundings in each step, each within half a unit in the last place.
					tolerance := float64(step+1) * 0x1p-22 * (math.Abs(want[i]) + math.Abs(float64(params[i])) + math.Abs(float64(begin[i])))
					if !(math.Abs(float64(got[i])-want[i]) <= tolerance) || share == 0 && got[i] != begin[i] || share == 1 && got[i] != params[i] {
						t.Fatalf("target %d with tau %g after step %d: %v; want %v", i, share, step, got[i], want[i])
					}
				}
			}
		})
	}
}

// The shapes of targets, parameters and tau are checked.
func TestFollowShapes(t *testing.T) {
	s := open(t).NewState()
	defer s.Close()
	tensor := func(name string, members, size int) *engine.Tensor {
		return s.Tensor(name, engine.Float32, engine.Members(members), engine.Axis("parameter", size))
	}
	a, b, odd, few := tensor("a", 3, 8), tensor("b", 3, 8), tensor("odd", 3, 7), tensor("few", 2, 12)
	tau, short := s.Tensor("tau", engine.Float32, engine.Members(3)), s.Tensor("short", engine.Float32, engine.Members(2))
	for _, c := range []struct {
		want                string
		target, source, tau *engine.Tensor
	}{
		{"multiple of 4", a, odd, tau}, {"same members", few, b, tau}, {"one for each of 3", a, b, short}, {"own target", a, a, tau},
	} {
		if err := checkFollow(c.target, c.source, c.tau); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v; want one with %q", err, c.want)
		}
	}
}

func TestFollowErrors(t *testing.T) {
	eng := open(t)
	s := eng.NewState()
	defer s.Close()
	o := newTrained(t, s, Default(Adam), 3, 8, 1)
	o.Follow(s.Tensor("short", engine.Float32, engine.Members(3), engine.Axis("parameter", 4)), o.rate)
	if _, err := eng.Record("update", func(r *engine.Recorder) { o.Step(r, o.gradient) }); err == nil || !strings.Contains(err.Error(), "short") {
		t.Errorf("a target shorter than the parameters: error %v", err)
	}
}

// Members that are not due keep parameters, moments and counts; targets follow in all of them.
func TestOnly(t *testing.T) {
	eng := open(t)
	const members, row = 5, 68
	s := eng.NewState()
	defer s.Close()
	some := newTrained(t, s.Sub("some"), DefaultAdam, members, row, 2)
	all := newTrained(t, s.Sub("all"), DefaultAdam, members, row, 2)
	write(t, all.params, read(t, some.params))
	begin := read(t, some.params)
	p := engine.Members(members)
	due, tau, target := s.Tensor("due", engine.Uint32, p), s.Tensor("tau", engine.Float32, p), s.Tensor("target", engine.Float32, some.params.Dims()...)
	if err := due.WriteUint32(t.Context(), []uint32{0, 1, 1, 0, 1}); err != nil {
		t.Fatal(err)
	}
	write(t, tau, []float32{1, 1, 0, 0, 1})
	write(t, target, make([]float32, members*row))
	some.Only(due)
	some.Follow(target, tau)
	program, err := eng.Record("only", func(r *engine.Recorder) {
		some.Step(r, some.gradient)
		all.Step(r, all.gradient)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Free()
	for range 3 {
		some.draw(t, -1)
		write(t, all.gradient, read(t, some.gradient))
		if err := program.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got, want, targets := read(t, some.params), read(t, all.params), read(t, target)
	for i := range got {
		m := i / row
		if m == 0 || m == 3 {
			want[i] = begin[i]
		}
		if got[i] != want[i] {
			t.Fatalf("parameter %d of member %d is %v; want %v", i%row, m, got[i], want[i])
		}
		if follows := m == 0 || m == 1 || m == 4; follows && targets[i] != got[i] || !follows && targets[i] != 0 {
			t.Fatalf("target %d of member %d is %v, its parameter %v", i%row, m, targets[i], got[i])
		}
	}
	counts, err := some.Updates().ReadUint32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for m, n := range counts {
		if want := []uint32{0, 3, 3, 0, 3}[m]; n != want {
			t.Errorf("member %d counts %d updates; want %d", m, n, want)
		}
	}
	some.Only(s.Tensor("short", engine.Uint32, engine.Members(2)))
	if _, err := eng.Record("wrong", func(r *engine.Recorder) { some.Step(r, some.gradient) }); err == nil {
		t.Error("due of the wrong length: no error")
	}
}
