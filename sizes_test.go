package evorl_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
)

// drawnSizes are sizes around the bounds of types and kernels, and some that every device has room for.
var drawnSizes = []int64{
	math.MinInt64, -1 << 32, -1, 0, 1, 1, 2, 2, 3, 3, 5, 7, 8, 13, 17, 31, 32, 33, 63, 65, 100, 127, 129, 255, 257, 1000, 1023, 4097, 8193,
	65535, 65536, 1<<20 + 1, 1 << 24, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1 << 40, 1 << 62, math.MaxInt64,
}

var drawnNumbers = []float64{math.Inf(-1), -1e30, -1, 0, 1e-45, 1e-9, 1e-3, 0.1, 0.5, 0.99, 1, 1.5, 2, 10, 1e4, 1e30, math.MaxFloat64, math.Inf(1), math.NaN()}

// drawing draws the arguments of a case, and keeps what it drew.
type drawing struct {
	*rand.Rand
	drawn []string
}

// size draws a size; half of them are small.
func (d *drawing) size(what string) int {
	n := drawnSizes[d.IntN(len(drawnSizes))]
	if d.IntN(2) == 0 {
		n = int64(1 + d.IntN(40))
	}
	d.drawn = append(d.drawn, fmt.Sprintf("%s=%d", what, n))
	return int(n)
}

// sizes draws a list of up to three sizes.
func (d *drawing) sizes(what string) (all []int) {
	n := d.IntN(4)
	d.drawn = append(d.drawn, fmt.Sprintf("%d %s", n, what))
	for i := range n {
		all = append(all, d.size(fmt.Sprintf("%s[%d]", what, i)))
	}
	return all
}

// field is a number, a switch or a list of sizes among settings.
type field struct {
	name  string
	value reflect.Value
}

// fieldsOf lists them, in nested structs too.
func fieldsOf(name string, v reflect.Value) (all []field) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return fieldsOf(name, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				all = append(all, fieldsOf(name+"."+v.Type().Field(i).Name, v.Field(i))...)
			}
		}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64, reflect.Bool:
		all = append(all, field{name, v})
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Int {
			all = append(all, field{name, v})
		}
	}
	return all
}

// change draws a new value of a setting.
func (d *drawing) change(f field) {
	switch f.value.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		f.value.SetInt(int64(d.size(f.name)))
	case reflect.Uint32, reflect.Uint64:
		f.value.SetUint(uint64(d.size(f.name)))
	case reflect.Float32, reflect.Float64:
		f.value.SetFloat(drawnNumbers[d.IntN(len(drawnNumbers))])
		d.drawn = append(d.drawn, fmt.Sprintf("%s=%g", f.name, f.value.Float()))
	case reflect.Bool:
		f.value.SetBool(!f.value.Bool())
		d.drawn = append(d.drawn, fmt.Sprintf("%s=%v", f.name, f.value.Bool()))
	case reflect.Slice:
		f.value.Set(reflect.ValueOf(d.sizes(f.name)))
	}
}

// constructors make something of random sizes; their errors are answers, too.
var constructors = []func(context.Context, *engine.Engine, *drawing) error{
	makeWorkflow, makeWorkflow, makeWorkflow, makeWorkflow, makeNetwork, makeOptimizer, makeSearch, makeEnvironments, makeTensors,
}

// makeWorkflow builds a workflow with up to three settings of random values, which no decoder has checked.
func makeWorkflow(ctx context.Context, eng *engine.Engine, d *drawing) error {
	all, places := evorl.Workflows(), []string{"CartPole-v1", "Pendulum-v1", "Hopper-v5", "sphere", "zdt"}
	w, env := all[d.IntN(len(all))], places[d.IntN(len(places))]
	d.drawn = append(d.drawn, w.Name, env)
	cfg, err := evorl.New(w.Name, env)
	if err != nil {
		return err
	}
	var fields []field
	for _, s := range cfg.Sections() {
		fields = append(fields, fieldsOf(s.Name, reflect.ValueOf(s.Value))...)
	}
	for range 1 + d.IntN(3) {
		d.change(fields[d.IntN(len(fields))])
	}
	built, err := cfg.Build(ctx, eng)
	if err != nil {
		return err
	}
	return built.Close()
}

func makeNetwork(_ context.Context, eng *engine.Engine, d *drawing) error {
	s := eng.NewState()
	defer s.Close()
	mlp := nn.MLP{In: d.size("inputs"), Hidden: d.sizes("hidden"), Out: d.size("outputs"), Activation: nn.Activation(d.IntN(7)), LayerNorm: d.IntN(2) == 0}
	net, err := nn.NewStack(s, mlp, d.size("members"), d.size("networks"), d.size("rows"))
	if err == nil {
		_, err = net.NewPass(s, d.size("rows of the pass"))
	}
	if err == nil {
		nn.NewNormalizer(s, d.size("members"), d.size("features"))
		err = s.Allocate()
	}
	return err
}

func makeOptimizer(_ context.Context, eng *engine.Engine, d *drawing) error {
	s := eng.NewState()
	defer s.Close()
	rate := s.Tensor("rate", engine.Float32, engine.Members(d.size("members")))
	optim.New(s, optim.Default(optim.Rule(d.IntN(7))), rate, d.size("row"))
	return s.Allocate()
}

// makeSearch makes parts of searches that are not sections of workflows.
func makeSearch(ctx context.Context, eng *engine.Engine, d *drawing) error {
	switch d.IntN(5) {
	case 0:
		s, err := ec.NewSearch(ctx, eng, ec.DefaultOpenES(), problem.Sphere(d.size("dimension")), d.size("members"))
		if err != nil {
			return err
		}
		return s.Close()
	case 1:
		space := ec.Space{Members: d.size("members"), Dim: d.size("dim"), Objectives: d.size("objectives")}
		algorithms := []ec.Algorithm{ec.DefaultCMAES(), ec.DefaultGA(), ec.DefaultNSGA3(), ec.DefaultCVTMAPElites(), ec.DefaultXNES(), ec.DefaultLMMAES()}
		a, err := ec.NewAskTell(eng, algorithms[d.IntN(len(algorithms))], space)
		if err != nil {
			return err
		}
		return a.Close()
	case 2:
		_, err := ec.DasDennis(d.size("objectives"), d.size("partitions"))
		return err
	case 3:
		s := eng.NewState()
		defer s.Close()
		if _, err := ec.NewFronts(s, d.size("members"), d.size("objectives")); err != nil {
			return err
		}
		return s.Allocate()
	}
	functions := []func() (ec.Problem, error){
		func() (ec.Problem, error) {
			return problem.DTLZ(d.size("function"), d.size("objectives"), d.size("dimension"))
		},
		func() (ec.Problem, error) { return problem.ZDT(d.size("function"), d.size("dimension")) },
		func() (ec.Problem, error) {
			return problem.BBOB(problem.BBOBConfig{Function: d.size("function"), Dimension: d.size("dimension"), Instance: d.size("instance")})
		},
	}
	p, err := functions[d.IntN(len(functions))]()
	if err != nil {
		return err
	}
	s, err := ec.NewSearch(ctx, eng, ec.DefaultSNES(), p, 1)
	if err != nil {
		return err
	}
	return s.Close()
}

func makeEnvironments(ctx context.Context, eng *engine.Engine, d *drawing) error {
	names := []string{"CartPole-v1", "Pendulum-v1", "Hopper-v5"}
	env, err := envs.Lookup(names[d.IntN(len(names))])
	if err != nil {
		return err
	}
	var options envs.Options
	for _, f := range fieldsOf("options", reflect.ValueOf(&options)) {
		if d.IntN(4) == 0 {
			d.change(f)
		}
	}
	if d.IntN(2) == 0 {
		b, err := envs.NewBatch(ctx, eng.Device(), env, d.size("members"), d.size("environments"), options)
		if err == nil {
			b.Close()
		}
		return err
	}
	s := eng.NewState()
	defer s.Close()
	cfg := envs.RolloutConfig{Members: 1, Environments: 1, Horizon: 1, Options: options}
	for _, f := range fieldsOf("rollout", reflect.ValueOf(&cfg)) {
		if d.IntN(4) == 0 {
			d.change(f)
		}
	}
	if _, err := envs.NewRollout(ctx, s, env, cfg); err != nil {
		return err
	}
	return s.Allocate()
}

func makeTensors(_ context.Context, eng *engine.Engine, d *drawing) error {
	s := eng.NewState()
	defer s.Close()
	for i := range 1 + d.IntN(3) {
		var dims []engine.Dim
		for _, n := range d.sizes("dims") {
			dims = append(dims, engine.Axis("a", n))
		}
		s.Tensor(fmt.Sprint("x", i), engine.DType(d.IntN(3)), dims...)
	}
	engine.NewMetrics(s, d.size("members"), d.size("rows")).Row("x")
	return s.Allocate()
}

// Constructors given sizes and numbers at random return an error or what they make: they neither panic nor go on without end. EVORL_RANDOM_SIZES is how long
// to draw, such as 10m, with a new seed, or EVORL_RANDOM_SEED; without it, the same few cases are drawn.
func TestRandomSizes(t *testing.T) {
	eng := open(t, 3)
	seed, cases, end := uint64(1), 150, time.Now().Add(time.Hour)
	if text := os.Getenv("EVORL_RANDOM_SIZES"); text != "" {
		long, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		seed, cases, end = rand.Uint64(), math.MaxInt, time.Now().Add(long)
	}
	if text := os.Getenv("EVORL_RANDOM_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	answers, panics, slowest, said := [2]int{}, 0, time.Duration(0), ""
	n := 0
	for ; n < cases && time.Now().Before(end) && panics < 10; n++ {
		d := &drawing{Rand: rand.New(rand.NewPCG(seed, uint64(n)))}
		begin, done := time.Now(), make(chan error, 1)
		go func() {
			defer func() {
				if r := recover(); r != nil {
					stack := make([]byte, 1<<14)
					done <- &panicked{r, string(stack[:runtime.Stack(stack, false)])}
				}
			}()
			done <- constructors[d.IntN(len(constructors))](t.Context(), eng, d)
		}()
		what := func() string { return fmt.Sprintf("seed %d, case %d: %s", seed, n, strings.Join(d.drawn, ", ")) }
		select {
		case err := <-done:
			if p, ok := err.(*panicked); ok {
				t.Errorf("%s: %v", what(), p)
				panics++
			} else if err != nil {
				answers[1]++
			} else {
				answers[0]++
			}
			if took := time.Since(begin); took > slowest {
				slowest, said = took, what()
			}
		case <-time.After(longest):
			stacks := make([]byte, 1<<20)
			t.Fatalf("%s: no answer after %v\n%s", what(), longest, stacks[:runtime.Stack(stacks, true)])
		}
	}
	t.Logf("%d cases: %d were made and %d refused; the slowest, %v, was %s", n, answers[0], answers[1], slowest, said)
	if cases == n && (answers[0] < cases/10 || answers[1] < cases/10) {
		t.Errorf("of %d cases %d were made and %d refused; want more of both", cases, answers[0], answers[1])
	}
}

// longest is how long a constructor may take on a busy machine: ten seconds on a quiet one. A BBOB function of 1,000 dimensions takes 3.
const longest = 30 * time.Second

// panicked is the error of a constructor that panics.
type panicked struct {
	value any
	stack string
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }
