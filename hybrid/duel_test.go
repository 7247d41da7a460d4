package hybrid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/evorl/evorl/engine"
)

// TestDuels compares whole exchanges by tournaments and by t-tests with the model: every word of every tensor.
func TestDuels(t *testing.T) {
	const episodes = 5
	for _, exploit := range []Exploit{Tournament, TTest} {
		for _, members := range []int{2, 3, 33} {
			t.Run(fmt.Sprintf("%v of %d", exploit, members), func(t *testing.T) {
				cfg := overPPO()
				cfg.Resample, cfg.Exploit, cfg.Episodes = 0.3, exploit, episodes
				p := kinds[0].over(t, newPPO(t, 5, "CartPole-v1", small(members)), cfg)
				initialized(t, p)
				m := model{seed: 5, cfg: cfg, names: p.names, state: p.State()}
				rng := rand.New(rand.NewPCG(uint64(members), 2))
				moved, kept := 0, 0
				for iteration := range 8 {
					scramble(t, p, rng, iteration, fitnesses(rng, members))
					variance := make([]float32, members)
					for i := range variance {
						variance[i] = float32(rng.ExpFloat64() * float64(rng.IntN(3)) / 10)
					}
					if exploit == TTest {
						if err := p.ranking.variance.WriteFloat32(t.Context(), variance); err != nil {
							t.Fatal(err)
						}
					}
					before := snapshot(t, p.State())
					run(t, p, p.recordExchange)
					n := compare(t, p, snapshot(t, p.State()), m.duels(before, members, func(q, p int) bool {
						a, b := before.float("pbt/fitness", q), before.float("pbt/fitness", p)
						if math.IsNaN(a) || math.IsNaN(b) {
							return !math.IsNaN(a)
						}
						return a > b && (exploit == Tournament || welch(a, b, float64(variance[q]), float64(variance[p]), episodes) < cfg.Significance)
					}))
					moved, kept = moved+n, kept+members-n
				}
				if moved == 0 || kept == 0 {
					t.Errorf("%d members were replaced, %d not", moved, kept)
				}
			})
		}
	}
}

// welch is the two-sided probability of means that differ as much, of n values each, given the variances of the means.
func welch(a, b, va, vb float64, n int) float64 {
	both := va + vb
	if !(both > 0) || math.IsInf(a-b, 0) {
		return 0
	}
	nu := both * both * float64(n-1) / (va*va + vb*vb)
	return 2 * distuv.StudentsT{Sigma: 1, Nu: nu}.Survival(math.Abs(a-b)/math.Sqrt(both))
}

// TestCriticalValues: between whole degrees of freedom, which the kernel interpolates, critical values are off by little, and at them they are those
// of tables.
func TestCriticalValues(t *testing.T) {
	if v := criticalValues(11, 0.05); math.Abs(float64(v[0])-2.228139) > 1e-5 || math.Abs(float64(v[10])-2.085963) > 1e-5 {
		t.Errorf("critical values %v; want 2.228139 for 10 and 2.085963 for 20 degrees of freedom", v)
	}
	for _, n := range []int{5, 16} {
		v := criticalValues(n, 0.05)
		for i := range n - 1 {
			between := distuv.StudentsT{Sigma: 1, Nu: float64(n-1+i) + 0.5}.Quantile(0.975)
			if got := float64(v[i]+v[i+1]) / 2; math.Abs(got-between) > 0.02 {
				t.Errorf("%d episodes: critical value %g between %d and %d degrees of freedom; want %g", n, got, n-1+i, n+i, between)
			}
		}
	}
}

// TestSpread: mean, variance of the mean and steadiness of returns against gonum; numbers of episodes that are no multiple of a workgroup, and a member
// with returns that are not finite.
func TestSpread(t *testing.T) {
	for _, episodes := range []int{2, 7, 70} {
		cfg := overPPO()
		cfg.Exploit, cfg.Objective, cfg.Episodes = Truncation, Steadiness, episodes
		p := kinds[0].over(t, newPPO(t, 5, "CartPole-v1", small(5)), cfg)
		initialized(t, p)
		rng := rand.New(rand.NewPCG(uint64(episodes), 3))
		returns := make([]float32, 5*episodes)
		for i := range returns {
			returns[i] = float32(100 + 10*rng.NormFloat64())
		}
		returns[3*episodes+1] = float32(math.Inf(1))
		for _, x := range []*engine.Tensor{p.fitness, p.ranking.variance, p.ranking.steadiness, p.ranking.objectives} {
			if err := x.Fill(t.Context(), float32(math.NaN())); err != nil {
				t.Fatal(err)
			}
		}
		p.ranking.evaluate = func(r *engine.Recorder, fitness *engine.Tensor) {}
		if err := p.ranking.returns.WriteFloat32(t.Context(), returns); err != nil {
			t.Fatal(err)
		}
		run(t, p, func(r *engine.Recorder) { p.ranking.recordFitness(r, p) })
		fitness, variance := values(t, p.fitness), values(t, p.ranking.variance)
		steadiness, objectives := values(t, p.ranking.steadiness), values(t, p.ranking.objectives)
		for m := range 5 {
			x := make([]float64, episodes)
			for i := range x {
				x[i] = float64(returns[m*episodes+i])
			}
			mean, std := stat.MeanStdDev(x, nil)
			if m == 3 {
				if objectives[6] != -math.MaxFloat32 || objectives[7] != -math.MaxFloat32 {
					t.Errorf("objectives %v of a member with an infinite return; want the least", objectives[6:8])
				}
				continue
			}
			isNear(t, "mean", float64(fitness[m]), mean)
			isNear(t, "variance of the mean", float64(variance[m]), std*std/float64(episodes))
			isNear(t, "steadiness", float64(steadiness[m]), -std)
			isNear(t, "objective", float64(objectives[2*m]), mean)
			isNear(t, "objective", float64(objectives[2*m+1]), -std)
		}
	}
}

func isNear(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 2e-5*math.Abs(want)) {
		t.Errorf("%s %.9g; want %.9g", what, got, want)
	}
}
