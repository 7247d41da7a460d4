package problem

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkOpenES measures a generation of OpenES with one episode of 1000 swing-up steps per candidate: CPU time of
// the process, which on a software driver is the device's, and the fraction of device time of each kernel.
func BenchmarkOpenES(b *testing.B) {
	eng := engine.New(open(b), engine.Seed(1))
	for _, c := range []struct {
		hidden     []int
		population int
	}{
		{[]int{16, 16}, 1 << 7}, {[]int{16, 16}, 1 << 9}, {[]int{16, 16}, 1 << 11}, {[]int{16, 16}, 1 << 13}, {[]int{16, 16}, 1 << 15},
		{[]int{16, 16}, 1 << 17},
		{[]int{64, 64}, 1 << 12},
		{[]int{256, 256}, 1 << 7}, {[]int{256, 256}, 1 << 9},
	} {
		b.Run(fmt.Sprint(c.hidden, "/", c.population), func(b *testing.B) {
			network, cfg := DefaultNetwork(), ec.DefaultOpenES()
			network.Hidden, network.OutputGain = c.hidden, 0 // hardly any candidate leaves the track
			cfg.Population, cfg.NoiseStd, cfg.LearningRate = c.population, 1e-5, 0
			s, err := ec.NewSearch(b.Context(), eng, cfg, Policy(lookup(b, "CartPoleSwingUp-easy"), envs.Options{}, network, DefaultPolicy()), 1)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if err := s.Init(b.Context()); err != nil {
				b.Fatal(err)
			}
			program, err := eng.Record("generation", func(r *engine.Recorder) { s.Record(r, nil) })
			if err != nil {
				b.Fatal(err)
			}
			defer program.Free()
			kernels, err := program.Profile(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			var all time.Duration
			for _, k := range kernels {
				all += k.Time
			}
			for _, k := range kernels {
				if share := 100 * float64(k.Time) / float64(all); share >= 0.5 {
					b.Logf("%5.1f%% %s, %d times", share, k.Label, k.Calls)
				}
			}
			begin := cpu(b)
			for b.Loop() {
				if err := program.Run(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpu(b)-begin).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}
