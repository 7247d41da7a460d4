package ec

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// TestPypop: generations that pypop7 made of the same noise (tools/reference/ec/pypop.py).
func TestPypop(t *testing.T) {
	text, err := os.ReadFile("testdata/pypop.json")
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Seed  uint32
		Cases []struct {
			Name            string
			Dim, Population int
			Std             float64
			Start           []float32
			Generations     []map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &data); err != nil {
		t.Fatal(err)
	}
	eng := engine.New(open(t), engine.Seed(data.Seed))
	for _, c := range data.Cases {
		t.Run(c.Name, func(t *testing.T) {
			var algorithm Algorithm = LMMAESConfig{Population: c.Population, InitStd: c.Std}
			if c.Name == "xnes" {
				algorithm = XNESConfig{Population: c.Population, LearningRate: 1, InitStd: c.Std}
			}
			tr := newTrial(t, eng, algorithm, Space{Members: 1, Dim: c.Dim}, c.Start)
			worst := 0.0
			for g, all := range c.Generations {
				tr.generation(ellipsoid)
				if len(all) < 3 {
					t.Fatalf("%d tensors; want at least 3", len(all))
				}
				for name, text := range all {
					var rows [][]float64
					var want []float64
					if json.Unmarshal(text, &rows) == nil {
						want = padded(rows)
					} else if err := json.Unmarshal(text, &want); err != nil {
						t.Fatal(err)
					}
					d := deviation(tr.values(tr.state.Lookup(c.Name + "/" + name))[:len(want)], want)
					if worst = max(worst, d); !(d <= 1e-5) {
						t.Errorf("generation %d: %s deviates by %.1e", g, name, d)
					}
				}
			}
			t.Logf("largest relative deviation %.1e", worst)
		})
	}
}

// padded lays vectors out as rows of a tensor.
func padded(vectors [][]float64) []float64 {
	row := nn.Align(len(vectors[0]))
	out := make([]float64, len(vectors)*row)
	for i, v := range vectors {
		copy(out[i*row:], v)
	}
	return out
}

// refXNES is algorithm 1 of T. Glasmachers et al., 2010.
type refXNES struct {
	n     int
	h     settings
	mean  *mat.VecDense
	sigma float64
	b     *mat.Dense
}

func newXNES(std float64) func(settings, []float64, int) reference {
	return func(h settings, start []float64, _ int) reference {
		n := len(start)
		r := &refXNES{n, h, mat.NewVecDense(n, slices.Clone(start)), std, mat.NewDense(n, n, nil)}
		for i := range n {
			r.b.Set(i, i, 1)
		}
		return r
	}
}

func (r *refXNES) candidate(noise []float64) []float64 {
	x := mat.NewVecDense(r.n, nil)
	x.MulVec(r.b, mat.NewVecDense(r.n, noise))
	x.AddScaledVec(r.mean, r.sigma, x)
	return x.RawVector().Data
}

func (r *refXNES) tensors() map[string][]float64 {
	var columns [][]float64
	for j := range r.n {
		columns = append(columns, mat.Col(nil, j, r.b))
	}
	return map[string][]float64{"mean": r.mean.RawVector().Data, "sigma": {r.sigma}, "shape": padded(columns)}
}

func (r *refXNES) tell(noise [][]float64, fitness []float64) {
	n, lambda := float64(r.n), float64(len(fitness))
	utility, sum := make([]float64, len(fitness)), 0.0
	for k, rank := range ranks(fitness) {
		utility[k] = max(0, math.Log(lambda/2+1)-math.Log(float64(rank+1)))
		sum += utility[k]
	}
	delta, g := mat.NewVecDense(r.n, nil), mat.NewDense(r.n, r.n, nil)
	for k, z := range noise {
		u := utility[k]/sum - 1/lambda
		v := mat.NewVecDense(r.n, z)
		delta.AddScaledVec(delta, u, v)
		g.RankOne(g, u, v, v)
		for i := range r.n {
			g.Set(i, i, g.At(i, i)-u)
		}
	}
	trace := mat.Trace(g) / n
	for i := range r.n {
		g.Set(i, i, g.At(i, i)-trace)
	}
	step := mat.NewVecDense(r.n, nil)
	step.MulVec(r.b, delta)
	r.mean.AddScaledVec(r.mean, r.h["learning_rate"]*r.sigma, step)
	r.sigma *= math.Exp(r.h["deviation_rate"] / 2 * trace)
	g.Scale(r.h["shape_rate"]/2, g)
	var e mat.Dense
	e.Exp(g)
	r.b.Mul(r.b, &e)
}

// refLMMAES is algorithm 2 of I. Loshchilov et al., 2019.
type refLMMAES struct {
	sigma      float64
	mean, path []float64
	memory     [][]float64
	generation int
}

func newLMMAES(std float64, vectors int) func(settings, []float64, int) reference {
	return func(_ settings, start []float64, _ int) reference {
		n := len(start)
		if vectors == 0 {
			vectors = 4 + int(math.Floor(3*math.Log(float64(n))))
		}
		r := &refLMMAES{sigma: std, mean: slices.Clone(start), path: make([]float64, n)}
		for range vectors {
			r.memory = append(r.memory, make([]float64, n))
		}
		return r
	}
}

func (r *refLMMAES) direction(noise []float64) []float64 {
	d, n := slices.Clone(noise), float64(len(noise))
	for j := range min(r.generation, len(r.memory)) {
		rate, product := 1/(math.Pow(1.5, float64(j))*n), 0.0
		for i, m := range r.memory[j] {
			product += m * d[i]
		}
		for i, m := range r.memory[j] {
			d[i] = (1-rate)*d[i] + rate*m*product
		}
	}
	return d
}

func (r *refLMMAES) candidate(noise []float64) []float64 {
	x := r.direction(noise)
	for i := range x {
		x[i] = r.mean[i] + r.sigma*x[i]
	}
	return x
}

func (r *refLMMAES) tensors() map[string][]float64 {
	return map[string][]float64{"mean": r.mean, "sigma": {r.sigma}, "path_sigma": r.path, "memory": padded(r.memory)}
}

func (r *refLMMAES) tell(noise [][]float64, fitness []float64) {
	n, lambda, parents := float64(len(r.mean)), float64(len(fitness)), len(fitness)/2
	weights, sum, square := make([]float64, len(fitness)), 0.0, 0.0
	for k, rank := range ranks(fitness) {
		if rank < parents {
			weights[k] = math.Log(float64(parents)+0.5) - math.Log(float64(rank+1))
			sum += weights[k]
		}
	}
	z, d := make([]float64, len(r.mean)), make([]float64, len(r.mean))
	for k := range weights {
		w := weights[k] / sum
		square += w * w
		direction := r.direction(noise[k])
		for i := range z {
			z[i] += w * noise[k][i]
			d[i] += w * direction[i]
		}
	}
	length, c := 0.0, min(1, 2*lambda/n)
	for i := range z {
		r.mean[i] += r.sigma * d[i]
		r.path[i] = (1-c)*r.path[i] + math.Sqrt(c*(2-c)/square)*z[i]
		length += r.path[i] * r.path[i]
	}
	for j, m := range r.memory {
		c := min(1, lambda/(math.Pow(4, float64(j))*n))
		for i := range m {
			m[i] = (1-c)*m[i] + math.Sqrt(c*(2-c)/square)*z[i]
		}
	}
	r.sigma *= math.Exp(c / 2 * (length/n - 1))
	r.generation++
}
