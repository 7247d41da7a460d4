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

// TestPypop compares generations with pypop7's for the same noise (tools/reference/ec/pypop.py).
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
				tr.step(ellipsoid)
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
					d := deviation(tr.values(tr.state.Lookup("ec/" + name))[:len(want)], want)
					if worst = max(worst, d); !(d <= 1e-5) {
						t.Errorf("generation %d: %s deviates by %.1e", g, name, d)
					}
				}
			}
			t.Logf("largest relative deviation %.1e", worst)
		})
	}
}

// padded pads vectors to rows of a tensor.
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

// refCRFMNES is algorithm 1 of M. Nomura, I. Ono, 2022, with the gradient of each candidate computed separately.
type refCRFMNES struct {
	sigma              float64
	mean, v, d, ps, pc []float64
}

// newCRFMNES makes references in the order of the members, each with the initial v that the device draws for it.
func newCRFMNES(std float64) func(settings, []float64, int) reference {
	member := uint32(0)
	return func(_ settings, start []float64, _ int) reference {
		n := len(start)
		r := &refCRFMNES{sigma: std, mean: slices.Clone(start), v: make([]float64, n), d: slices.Repeat([]float64{1}, n),
			ps: make([]float64, n), pc: make([]float64, n)}
		for i := range n {
			z := normals(engine.Philox([2]uint32{5, engine.Stream("ec/first_v")}, [4]uint32{member, 0, 0, uint32(i / 4)})) // TestUpdates' seed
			r.v[i] = float64(z[i%4]) / math.Sqrt(float64(n))
		}
		member++
		return r
	}
}

func dot(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

func (r *refCRFMNES) y(noise []float64) []float64 {
	norm2 := dot(r.v, r.v)
	along := (math.Sqrt(1+norm2) - 1) * dot(r.v, noise) / norm2
	y := slices.Clone(noise)
	for i, v := range r.v {
		y[i] += along * v
	}
	return y
}

func (r *refCRFMNES) candidate(noise []float64) []float64 {
	x := r.y(noise)
	for i := range x {
		x[i] = r.mean[i] + r.sigma*r.d[i]*x[i]
	}
	return x
}

func (r *refCRFMNES) tensors() map[string][]float64 {
	return map[string][]float64{"mean": r.mean, "sigma": {r.sigma}, "v": r.v, "deviation": r.d, "path_sigma": r.ps, "path_c": r.pc}
}

func (r *refCRFMNES) tell(noise [][]float64, fitness []float64) {
	n, dim, lambda := len(r.mean), float64(len(r.mean)), float64(len(fitness))
	hat, sum := make([]float64, len(fitness)), 0.0
	for k, rank := range ranks(fitness) {
		hat[k] = max(0, math.Log(lambda/2+1)-math.Log(float64(rank+1)))
		sum += hat[k]
	}
	weights, square := make([]float64, len(hat)), 0.0
	for k, w := range hat {
		weights[k] = w/sum - 1/lambda
		square += w / sum * w / sum
	}
	mass := 1 / square
	cs, cc := (mass+2)/(dim+mass+5), (4+mass/dim)/(dim+4+2*mass/dim)
	c1 := max(0, dim-5) / 6 * 2 / (math.Pow(dim+1.3, 2) + mass)
	length := math.Sqrt(dim) * (1 - 1/(4*dim) + 1/(21*dim*dim))
	for i := range n {
		z := 0.0
		for k := range noise {
			z += weights[k] * noise[k][i]
		}
		r.ps[i] = (1-cs)*r.ps[i] + math.Sqrt(cs*(2-cs)*mass)*z
	}
	size := math.Sqrt(dot(r.ps, r.ps))
	rate := 2 * math.Tanh((0.025*lambda+0.75*dim+10)/(dim+4))
	if size >= 0.1*length {
		rate = math.Tanh((0.024*lambda + 0.7*dim + 20) / (dim + 12))
	}
	if size >= length {
		rate = 1
		a := 6.0 // Newton's method, as in the authors' package
		for range 200 {
			a -= 0.5 * ((1+a*a)*math.Exp(a*a/2)/0.24 - 10 - dim) / (a * math.Exp(a*a/2) * (3 + a*a) / 0.24)
		}
		a *= min(1, math.Sqrt(lambda/dim))
		sum = 0
		for k := range hat {
			hat[k] *= math.Exp(a * math.Sqrt(dot(noise[k], noise[k])))
			sum += hat[k]
		}
		for k, w := range hat {
			weights[k] = w/sum - 1/lambda
		}
	}
	norm2 := dot(r.v, r.v)
	norm, gamma := math.Sqrt(norm2), 1+norm2
	w := make([]float64, n)
	largest := 0.0
	for i, v := range r.v {
		w[i] = v / norm
		largest = max(largest, w[i]*w[i])
	}
	etaB := math.Tanh((min(0.02*lambda, 3*math.Log(dim)) + 5) / (0.23*dim + 25))
	columns, factors := [][]float64{}, []float64{}
	shift := make([]float64, n)
	for k := range noise {
		y := r.y(noise[k])
		for i := range y {
			shift[i] += weights[k] * r.d[i] * y[i]
		}
		columns, factors = append(columns, y), append(factors, etaB*weights[k])
	}
	last := make([]float64, n)
	for i := range n {
		r.mean[i] += r.sigma * shift[i]
		r.pc[i] = (1-cc)*r.pc[i] + math.Sqrt(cc*(2-cc)*mass)*shift[i]
		last[i] = r.pc[i] / r.d[i]
	}
	columns, factors = append(columns, last), append(factors, c1)
	alpha := min(1, math.Sqrt(norm2*norm2+(2*gamma-math.Sqrt(gamma))/largest)/(2+norm2))
	b := -(1-alpha*alpha)*norm2*norm2/gamma + 2*alpha*alpha
	sumT, sumS := make([]float64, n), make([]float64, n)
	t, s, ww, h := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		ww[i] = w[i] * w[i]
		h[i] = 1 / (2 - (b+2*alpha*alpha)*ww[i])
	}
	wh := 0.0
	for i := range n {
		wh += ww[i] * ww[i] * h[i]
	}
	for k, y := range columns {
		ip := dot(w, y)
		for i := range n {
			t[i] = y[i]*ip - w[i]*(ip*ip+gamma)/2
		}
		wt := dot(w, t)
		for i := range n {
			s[i] = y[i]*y[i] - norm2/gamma*y[i]*w[i]*ip - 1
			s[i] -= alpha / gamma * ((2+norm2)*t[i]*w[i] - norm2*ww[i]*wt)
		}
		hs := 0.0
		for i := range n {
			hs += h[i] * ww[i] * s[i]
		}
		for i := range n {
			s[i] = s[i]*h[i] - b/(1+b*wh)*h[i]*ww[i]*hs
		}
		sw := dot(ww, s)
		for i := range n {
			sumT[i] += factors[k] * (t[i] - alpha*((2+norm2)*s[i]*w[i]-w[i]*sw))
			sumS[i] += factors[k] * s[i]
		}
	}
	logs := 0.0
	for i := range n {
		r.v[i] += sumT[i] / norm
		r.d[i] *= 1 + sumS[i]
		logs += math.Log(r.d[i])
	}
	size = math.Exp(logs/dim + math.Log(1+dot(r.v, r.v))/(2*dim))
	g := 0.0
	for k := range noise {
		g += weights[k] * (dot(noise[k], noise[k]) - dim) / dim
	}
	for i := range n {
		r.d[i] /= size
	}
	r.sigma *= math.Exp(rate / 2 * g)
}
