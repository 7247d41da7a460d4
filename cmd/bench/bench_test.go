package bench_test

import (
	"slices"
	"testing"
	"time"

	"github.com/evorl/evorl/cmd/bench"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// The cheap cases give sensible figures. The others run programs that are tested elsewhere.
func TestCore(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	suite, ok := bench.Lookup("core")
	if !ok {
		t.Fatal("there is no suite core")
	}
	measure := map[string]bool{"fma_peak": true, "copy_bandwidth": true, "submit_latency": true, "gemm/p64": true, "cartpole/random": true, "cartpole/mlp": true}
	o := bench.Options{Time: 20 * time.Millisecond, Match: func(c bench.Case) bool { return measure[c.Name] }}
	err := suite.Run(t.Context(), dev, o, func(m bench.Measurement) error {
		delete(measure, m.Case)
		if m.Suite != "core" || m.Device != dev.Info().Name || m.Unit == "" || !(m.Value > 0) {
			t.Errorf("%+v", m)
		}
		limited := m.Case == "cartpole/mlp" || m.Case == "gemm/p64"
		if limited != (m.Limit != nil) || limited != (m.Fraction != nil) ||
			limited && (*m.Fraction != m.Value / *m.Limit || *m.Fraction > 1) {
			t.Errorf("%+v: limit %v, fraction %v", m, m.Limit, m.Fraction)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range measure {
		t.Errorf("%s was not measured", name)
	}
}

// A policy acts in both forms, in the smallest case of each.
func TestPlacement(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	suite, ok := bench.Lookup("placement")
	if !ok || len(suite.Cases()) != 12 {
		t.Fatalf("suite %+v; want one of 12 cases", suite)
	}
	measure := map[string]bool{"act/cartpole/e64/fused": true, "act/cartpole/e64/stepped": true}
	o := bench.Options{Time: 20 * time.Millisecond, Match: func(c bench.Case) bool { return measure[c.Name] }}
	err := suite.Run(t.Context(), dev, o, func(m bench.Measurement) error {
		if m.Unit != "env steps/s" || !(m.Value > 0) {
			t.Errorf("%+v", m)
		}
		t.Logf("%s: %.0f", m.Case, m.Value)
		delete(measure, m.Case)
		return nil
	})
	if err != nil || len(measure) > 0 {
		t.Errorf("error %v; not measured: %v", err, measure)
	}
}

// The smallest of the physics suite's environments, one case of each kind.
func TestPhysics(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	suite, ok := bench.Lookup("physics")
	if !ok {
		t.Fatal("there is no suite physics")
	}
	measure := map[string]string{"invertedpendulum/w64": "env steps/s", "invertedpendulum/mlp": "env steps/s", "invertedpendulum/compile": "s"}
	o := bench.Options{Time: 20 * time.Millisecond, Match: func(c bench.Case) bool { return measure[c.Name] != "" }}
	err := suite.Run(t.Context(), dev, o, func(m bench.Measurement) error {
		if m.Unit != measure[m.Case] || !(m.Value > 0) {
			t.Errorf("%+v; want a figure in %s", m, measure[m.Case])
		}
		delete(measure, m.Case)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range measure {
		t.Errorf("%s was not measured", name)
	}
}

// One case of each kind of the evolution suite. Memory grows with the population only by each candidate's
// fitness, rank and weight, until a window is full.
func TestEvolution(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	suite, ok := bench.Lookup("ec")
	if !ok {
		t.Fatal("there is no suite ec")
	}
	measure := map[string]string{
		"openes/16x16/p128": "s", "openes/16x16/p128/memory": "MB", "openes/256x256/p2048/memory": "MB", "openes/256x256/p131072/memory": "MB",
		"placement/e1/stream": "env steps/s", "placement/e1/auto": "env steps/s",
	}
	memory := map[string]float64{}
	o := bench.Options{Time: 20 * time.Millisecond, Profile: true, Match: func(c bench.Case) bool { return measure[c.Name] != "" }}
	err := suite.Run(t.Context(), dev, o, func(m bench.Measurement) error {
		if m.Unit != measure[m.Case] || !(m.Value > 0) {
			t.Errorf("%+v; want a figure in %s", m, measure[m.Case])
		}
		if m.Unit == "s" && !slices.ContainsFunc(m.Kernels, func(k bench.Kernel) bool {
			return k.Label == "envs/rollout" && k.Calls > 0 && k.Seconds > 0 && k.Seconds < 60
		}) {
			t.Errorf("%s: no time of the kernel envs/rollout in %v", m.Case, m.Kernels)
		}
		memory[m.Case] = m.Value
		delete(measure, m.Case)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range measure {
		t.Errorf("%s was not measured", name)
	}
	const each = 80e-6 // MB a candidate, in no window
	if small, large := memory["openes/256x256/p2048/memory"], memory["openes/256x256/p131072/memory"]; large > small+each*(1<<17) {
		t.Errorf("%g MB for 2048 candidates, %g MB for 131072", small, large)
	}
}

// An update of each algorithm, within the limit that its operations set; products in float16 on devices that have them.
func TestOffPolicy(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	suite, ok := bench.Lookup("rl")
	if !ok {
		t.Fatal("there is no suite rl")
	}
	const half = "td3/256x256/p1/k1/float16"
	measure := map[string]bool{"td3/64x64/p2/k1": true, "sac/64x64/p1/k50": true, "dqn/120x84/p2/k1": true, half: true}
	o := bench.Options{Time: 20 * time.Millisecond, Match: func(c bench.Case) bool { return measure[c.Name] }}
	err := suite.Run(t.Context(), dev, o, func(m bench.Measurement) error {
		delete(measure, m.Case)
		if m.Case == half {
			if m.Unit != "ms" || m.Limit != nil || !(m.Value > 0) {
				t.Errorf("%+v", m)
			}
			return nil
		}
		if m.Unit != "ms" || m.Limit == nil || !(*m.Limit > 0 && *m.Limit < m.Value) || *m.Fraction != *m.Limit/m.Value {
			t.Errorf("%+v: limit %v, fraction %v", m, m.Limit, m.Fraction)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if left := measure[half]; left != (nn.Float16.Check(dev.Info()) != nil) {
		t.Errorf("%s was left out: %v", half, left)
	}
	delete(measure, half)
	for name := range measure {
		t.Errorf("%s was not measured", name)
	}
}

// An iteration of each hybrid of the smallest population.
func TestHybrids(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	suite, ok := bench.Lookup("hybrid")
	if !ok {
		t.Fatal("there is no suite hybrid")
	}
	measure := map[string]bool{"erl/64x64/p16": true, "cem-rl/64x64/p16": true, "pbt-sac/64x64/p16": true, "erl/pendulum/64x64/p16": true}
	o := bench.Options{Time: 20 * time.Millisecond, Match: func(c bench.Case) bool { return measure[c.Name] }}
	err := suite.Run(t.Context(), dev, o, func(m bench.Measurement) error {
		delete(measure, m.Case)
		if m.Unit != "s" || !(m.Value > 0) || m.Limit != nil {
			t.Errorf("%+v; want seconds, without a limit", m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range measure {
		t.Errorf("%s was not measured", name)
	}
}

// Repetitions are of the whole suite, one after the other, and a result says on what it was measured.
func TestRepetitions(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	suite, ok := bench.Lookup("core")
	if !ok {
		t.Fatal("there is no suite core")
	}
	var order []string
	o := bench.Options{
		Time: 10 * time.Millisecond, Repetitions: 3, Match: func(c bench.Case) bool { return c.Name == "submit_latency" || c.Name == "gemm/p1" },
		Began: func(c bench.Case, _ int) { order = append(order, c.Name) },
	}
	reported := 0
	r, err := suite.Measure(t.Context(), dev, o, func(bench.Measurement) error { reported++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.Repeat([]string{"submit_latency", "gemm/p1"}, 3); !slices.Equal(order, want) || reported != 2 {
		t.Errorf("measured %q and reported %d; want %q and 2", order, reported, want)
	}
	for _, m := range r.Cases {
		if slices.Sort(m.Samples); len(m.Samples) != 3 || m.Value != m.Samples[1] || m.Min != m.Samples[0] || m.Max != m.Samples[2] {
			t.Errorf("%+v", m)
		}
	}
	if info := dev.Info(); r.Device.Name != info.Name || r.Device.Driver != info.Driver || r.Host.Processors < 1 || r.Host.Processor == "" || r.Repetitions != 3 ||
		r.Seconds != 0.01 || time.Since(r.Date) > time.Hour || r.Device.MemoryBytes != info.MemoryBytes || r.Version == "" {
		t.Errorf("%+v", r)
	}
	if _, err := r.Score(); err == nil {
		t.Error("a score without the suite's cases")
	}
	o.Budget = time.Second
	if err := suite.Run(t.Context(), dev, o, nil); err == nil {
		t.Error("a budget for three repetitions is accepted")
	}
}

// The cases of the suite score give figures of one unit, and their mean.
func TestScore(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles five programs")
	}
	dev := vktest.Open(t, vk.Validate(false))
	suite, ok := bench.Lookup("score")
	if !ok || len(suite.Cases()) != 5 {
		t.Fatalf("suite score has %d cases", len(suite.Cases()))
	}
	for _, c := range suite.Cases() {
		if c.Unit != "env steps/s" || c.GPU {
			t.Errorf("%+v", c)
		}
	}
	o := bench.Options{Time: time.Millisecond}
	r, err := suite.Measure(t.Context(), dev, o, func(bench.Measurement) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	low, high := r.Cases[0].Value, r.Cases[0].Value
	for _, c := range r.Cases {
		low, high = min(low, c.Value), max(high, c.Value)
	}
	if score, err := r.Score(); err != nil || !(score > low && score < high) {
		t.Errorf("score %g of %g to %g: %v", score, low, high, err)
	}
}
