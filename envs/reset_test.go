package envs

import (
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// initial holds the distributions of initial states stated by the sources.
var initial = map[string][]distribution{
	"CartPole-v1":              {uniform(-0.05, 0.05), uniform(-0.05, 0.05), uniform(-0.05, 0.05), uniform(-0.05, 0.05)},
	"Pendulum-v1":              {uniform(-math.Pi, math.Pi), uniform(-1, 1)},
	"Acrobot-v1":               {uniform(-0.1, 0.1), uniform(-0.1, 0.1), uniform(-0.1, 0.1), uniform(-0.1, 0.1)},
	"MountainCar-v0":           {uniform(-0.6, -0.4), {}},
	"MountainCarContinuous-v0": {uniform(-0.6, -0.4), {}},
	"CartPoleSwingUp-easy":     {normal(0, 0.2), normal(0, 0.2), normal(math.Pi, 0.2), normal(0, 0.2)},
	"CartPoleSwingUp-hard":     {uniform(-2.4, 2.4), uniform(-10, 10), uniform(math.Pi/2, 3*math.Pi/2), uniform(-10, 10)},
}

// distribution is a cumulative distribution function with its range; the zero value is always 0.
type distribution struct {
	low, high float64
	below     func(x float64) float64
}

func uniform(low, high float64) distribution {
	return distribution{low, high, func(x float64) float64 { return min(max((x-low)/(high-low), 0), 1) }}
}

func normal(mean, std float64) distribution {
	// Philox's 24 bits reach 5.77 standard deviations.
	return distribution{mean - 6*std, mean + 6*std, func(x float64) float64 { return 0.5 * math.Erfc((mean-x)/std/math.Sqrt2) }}
}

// TestResetDistribution applies the Kolmogorov-Smirnov test to every element of the initial states, and tests for
// correlation between elements and between neighbours.
func TestResetDistribution(t *testing.T) {
	const members, environments = 32, 512
	const n = members * environments
	dev := open(t)
	for _, name := range classic() {
		b := newBatch(t, dev, name, members, environments, Options{})
		if _, err := b.Reset(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		state, err := b.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var levels [][]float64 // of the elements in their distributions: uniform in [0, 1]
		worst := 0.0
		for element, want := range initial[name] {
			values := make([]float64, n)
			for i, v := range state.Env[element*n : (element+1)*n] {
				values[i] = float64(v)
				if angle, ok := angles[name]; ok && angle == element && want.high > math.Pi {
					values[i] = math.Mod(values[i]+2*math.Pi, 2*math.Pi)
				}
			}
			if want.below == nil {
				if slices.Min(values) != 0 || slices.Max(values) != 0 {
					t.Errorf("%s: element %d is %g to %g; want 0", name, element, slices.Min(values), slices.Max(values))
				}
				continue
			}
			if slices.Min(values) < want.low-1e-6 || slices.Max(values) > want.high+1e-6 {
				t.Errorf("%s: element %d is %g to %g; want %g to %g", name, element, slices.Min(values), slices.Max(values), want.low, want.high)
			}
			level := make([]float64, n)
			for i, v := range values {
				level[i] = want.below(v)
			}
			levels = append(levels, level)
			sorted := slices.Sorted(slices.Values(level))
			distance := 0.0
			for i, u := range sorted {
				distance = max(distance, u-float64(i)/n, float64(i+1)/n-u)
			}
			worst = max(worst, distance*math.Sqrt(n))
		}
		// 1.95 is exceeded by chance once in a thousand.
		t.Logf("%-25s largest Kolmogorov-Smirnov statistic of %d samples %.2f", name, n, worst)
		if worst > 1.95 {
			t.Errorf("%s: Kolmogorov-Smirnov statistic %.2f of the first states; want below 1.95", name, worst)
		}
		for i, a := range levels {
			if r := correlation(a[1:], a[:n-1]); math.Abs(r) > 4/math.Sqrt(n) {
				t.Errorf("%s: element %d of neighbours correlates by %.3f", name, i, r)
			}
			for j, other := range levels[:i] {
				if r := correlation(a, other); math.Abs(r) > 4/math.Sqrt(n) {
					t.Errorf("%s: elements %d and %d correlate by %.3f", name, j, i, r)
				}
			}
		}
	}
}

func correlation(a, b []float64) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - 0.5) * (b[i] - 0.5)
		aa += (a[i] - 0.5) * (a[i] - 0.5)
		bb += (b[i] - 0.5) * (b[i] - 0.5)
	}
	return ab / math.Sqrt(aa*bb)
}

// TestResetNumbers: uniform initial states are bit-identical to the numbers of stream "env" for step 0.
func TestResetNumbers(t *testing.T) {
	const members, environments, seed = 3, 50, 99
	b := newBatch(t, open(t), "CartPole-v1", members, environments, Options{})
	obs, err := b.Reset(t.Context(), seed)
	if err != nil {
		t.Fatal(err)
	}
	for i := range members * environments {
		rng := engine.NewRng(seed, engine.Stream("env"), uint32(i/environments), uint32(i%environments), 0)
		for _, got := range row(obs, members*environments, i) {
			if want := rng.UniformIn(-0.05, 0.05); got != want {
				t.Fatalf("environment %d: %v; want %v", i, got, want)
			}
		}
	}
}

// TestPusherReset: the object is uniform in a rectangle, outside a disc about the goal, and only the arm moves.
func TestPusherReset(t *testing.T) {
	const n = 8192
	b := newBatch(t, vktest.Open(t, vk.Validate(false)), "Pusher-v5", 1, n, Options{})
	if _, err := b.Reset(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	state, err := b.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := func(element, i int) float64 { return float64(state.Env[element*n+i]) }
	far := 0
	for i := range n {
		x, y := at(7, i), at(8, i)
		if x < -0.3 || x > 0 || math.Abs(y) > 0.2 || math.Hypot(x, y) <= 0.17-1e-6 {
			t.Fatalf("environment %d: the object is at %g, %g", i, x, y)
		}
		if x < -0.17 {
			far++
		}
		for v := range 11 {
			if speed := at(11+v, i); math.Abs(speed) > 0.005 || (v >= 7) != (speed == 0) {
				t.Fatalf("environment %d: velocity %d is %g", i, v, speed)
			}
		}
	}
	want := 0.13 * 0.4 / (0.3*0.4 - math.Pi*0.17*0.17/2)
	if got := float64(far) / n; math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/n) {
		t.Errorf("%.3f of the objects are beyond -0.17; want %.3f", got, want)
	}
}
