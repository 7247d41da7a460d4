package bench_test

import (
	"testing"
	"time"

	"github.com/evorl/evorl/cmd/bench"
	"github.com/evorl/evorl/vk"
)

// The cheap cases give sensible figures; the others are programs that tests elsewhere run.
func TestCore(t *testing.T) {
	dev, err := vk.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	suite, ok := bench.Lookup("core")
	if !ok {
		t.Fatal("there is no suite core")
	}
	measure := map[string]bool{"fma_peak": true, "copy_bandwidth": true, "submit_latency": true, "gemm/p64": true, "cartpole/random": true, "cartpole/mlp": true}
	o := bench.Options{Time: 20 * time.Millisecond, Match: func(c bench.Case) bool { return measure[c.Name] }}
	err = suite.Run(t.Context(), dev, o, func(m bench.Measurement) error {
		delete(measure, m.Case)
		if m.Suite != "core" || m.Device != dev.Info().Name || m.Unit == "" || !(m.Value > 0) {
			t.Errorf("%+v", m)
		}
		if limited := m.Case == "cartpole/mlp" || m.Case == "gemm/p64"; limited != (m.Limit != nil) || limited != (m.Fraction != nil) || limited && *m.Fraction != m.Value / *m.Limit {
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

// The smallest of the physics suite's environments, one case of each kind.
func TestPhysics(t *testing.T) {
	dev, err := vk.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	suite, ok := bench.Lookup("physics")
	if !ok {
		t.Fatal("there is no suite physics")
	}
	measure := map[string]string{"invertedpendulum/w64": "env steps/s", "invertedpendulum/mlp": "env steps/s", "invertedpendulum/compile": "s"}
	o := bench.Options{Time: 20 * time.Millisecond, Match: func(c bench.Case) bool { return measure[c.Name] != "" }}
	err = suite.Run(t.Context(), dev, o, func(m bench.Measurement) error {
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
