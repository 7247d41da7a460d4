package ec

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// lazy is CMA-ES that decomposes its matrix every gap generations.
type lazy struct {
	CMAESConfig
	gap int
}

func (c lazy) New(s *engine.State, clock engine.Clock, hyper *engine.Hyper, space Space) (Strategy, error) {
	strategy, err := c.CMAESConfig.New(s, clock, hyper, space)
	if es, ok := strategy.(*cmaES); ok && c.gap > 0 {
		es.eigen.gap = c.gap
	}
	return strategy, err
}

// refCMAES is one search of N. Hansen, 2016, in float64, with the constants of pycma 4.5.
type refCMAES struct {
	n, generation int
	sigma         float64
	mean, ps, pc  *mat.VecDense
	c             *mat.Dense
}

func newRefCMAES(start []float64, std float64) *refCMAES {
	n := len(start)
	r := &refCMAES{n: n, sigma: std, mean: mat.NewVecDense(n, slices.Clone(start)), ps: mat.NewVecDense(n, nil), pc: mat.NewVecDense(n,
		nil), c: mat.NewDense(n, n, nil)}
	for i := range n {
		r.c.Set(i, i, 1)
	}
	return r
}

// tell learns from steps y = (x − m)/σ [N][n]. root [n][n] is C^(-1/2) of the matrix that the steps were drawn from.
func (r *refCMAES) tell(steps [][]float64, fitness []float64, root mat.Matrix) {
	n, lambda := float64(r.n), float64(len(fitness))
	rank := ranks(fitness)
	// Equations 49 to 53.
	raw := make([]float64, len(fitness))
	up, down, up2, down2 := 0.0, 0.0, 0.0, 0.0
	for i := range raw {
		raw[i] = math.Log((max(lambda, 2)+1)/2) - math.Log(float64(i+1))
		if raw[i] > 0 {
			up, up2 = up+raw[i], up2+raw[i]*raw[i]
		} else {
			down, down2 = down+raw[i], down2+raw[i]*raw[i]
		}
	}
	mass := up * up / up2
	c1 := min(1, lambda/6) * 2 / (math.Pow(n+1.3, 2) + mass)
	cmu := min(1-c1, 2*(0.25+mass+1/mass-2)/(math.Pow(n+2, 2)+mass))
	least := 0.0
	if down < 0 {
		least = min(1+c1/cmu, 1+2*(down*down/down2)/(mass+2), (1-c1-cmu)/(n*cmu))
	}
	weights, sum := make([]float64, len(raw)), 0.0
	for i, w := range raw {
		weights[i] = w / up
		if w < 0 {
			weights[i] = w / -down * least
		}
		sum += weights[i]
	}
	cs := min(0.5, (mass+2)/(n+mass+3))
	ds := 1 + 2*max(0, max(1, 3*(1-math.Pow(0.5, n/9)))*math.Sqrt((mass-1)/(n+1))-1) + cs
	cc := (4 + mass/n) / (n + 4 + 2*mass/n)
	length := math.Sqrt2 * math.Gamma((n+1)/2) / math.Gamma(n/2)

	y := mat.NewVecDense(r.n, nil)
	for k, s := range steps {
		if w := weights[rank[k]]; w > 0 {
			y.AddScaledVec(y, w, mat.NewVecDense(r.n, slices.Clone(s)))
		}
	}
	r.mean.AddScaledVec(r.mean, r.sigma, y)
	white := mat.NewVecDense(r.n, nil)
	white.MulVec(root, y)
	r.ps.ScaleVec(1-cs, r.ps)
	r.ps.AddScaledVec(r.ps, math.Sqrt(cs*(2-cs)*mass), white)
	r.generation++
	h, size := 0.0, mat.Norm(r.ps, 2)
	if size*size/(1-math.Pow(1-cs, 2*float64(r.generation)))/n-1 < 1+4/(n+1) {
		h = 1
	}
	r.pc.ScaleVec(1-cc, r.pc)
	r.pc.AddScaledVec(r.pc, h*math.Sqrt(cc*(2-cc)*mass), y)
	r.c.Scale(1+c1*(1-h)*cc*(2-cc)-c1-cmu*sum, r.c)
	rankOne := mat.NewDense(r.n, r.n, nil)
	rankOne.Outer(c1, r.pc, r.pc)
	r.c.Add(r.c, rankOne)
	for k, s := range steps {
		step := mat.NewVecDense(r.n, slices.Clone(s))
		w := weights[rank[k]]
		if w < 0 {
			white.MulVec(root, step)
			w *= n / mat.Dot(white, white)
		}
		rankOne.Outer(cmu*w, step, step)
		r.c.Add(r.c, rankOne)
	}
	r.sigma *= math.Exp(min(1, cs/ds*(size/length-1)))
}

// frame returns a search's eigenvectors, one per row, and the square roots of its eigenvalues from the device.
func (tr *trial) frame(member int) (basis *mat.Dense, scale []float64) {
	es := tr.strategy.(*cmaES)
	basis = mat.NewDense(tr.space.Dim, tr.space.Dim, nil)
	for i, row := range tr.rows(es.eigen.basis, tr.space.Dim)[member] {
		basis.SetRow(i, wide(row))
	}
	return basis, wide(tr.rows(es.eigen.scale, 1)[member][0])
}

// covariance returns a search's C = Bᵀ H B from the device; the rows of B are the eigenvectors.
func (tr *trial) covariance(member int) *mat.Dense {
	basis, _ := tr.frame(member)
	h := mat.NewDense(tr.space.Dim, tr.space.Dim, nil)
	for i, row := range tr.rows(tr.strategy.(*cmaES).eigen.covariance, tr.space.Dim)[member] {
		h.SetRow(i, wide(row))
	}
	h.Mul(h, basis)
	h.Mul(basis.T(), h)
	return h
}

// inverseRoot returns C^(-1/2) of a frame.
func inverseRoot(basis *mat.Dense, scale []float64) *mat.Dense {
	root := mat.DenseCopyOf(basis)
	for i, d := range scale {
		for j := range scale {
			root.Set(i, j, root.At(i, j)/d)
		}
	}
	root.Mul(basis.T(), root)
	return root
}

// checkFrame returns the deviation of eigenvectors from orthogonality, and the relative deviation of the square roots
// of eigenvalues from a matrix's.
func checkFrame(t *testing.T, basis *mat.Dense, scale []float64, c *mat.Dense) (orthogonal, roots float64) {
	t.Helper()
	n := len(scale)
	var product mat.Dense
	product.Mul(basis, basis.T())
	for i := range n {
		product.Set(i, i, product.At(i, i)-1)
	}
	orthogonal = mat.Max(&product)
	orthogonal = max(orthogonal, -mat.Min(&product))
	symmetric := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			symmetric.SetSym(i, j, (c.At(i, j)+c.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(symmetric, false) {
		t.Fatal("gonum found no eigenvalues")
	}
	sorted := slices.Sorted(slices.Values(scale))
	for i, v := range eigen.Values(nil) {
		roots = max(roots, math.Abs(sorted[i]/math.Sqrt(v)-1))
	}
	return orthogonal, roots
}

// TestCMAES compares generations of several searches with float64.
func TestCMAES(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	const members = 2
	for _, c := range []struct {
		algorithm Algorithm
		dim       int
		std       float64
	}{
		{DefaultCMAES(), 10, 0.1},
		{CMAESConfig{InitStd: 0.5}, 2, 0.5},
		{CMAESConfig{InitStd: 0.3}, 1, 0.3},
		{CMAESConfig{Population: 45, InitStd: 0.7}, 7, 0.7},
		{CMAESConfig{Population: 300, InitStd: 0.7}, 13, 0.7},
		{lazy{CMAESConfig{InitStd: 0.5}, 3}, 6, 0.5},
		{CMAESConfig{Population: 20, InitStd: 0.5}, 33, 0.5},
		{CMAESConfig{Population: 24, InitStd: 0.5}, 61, 0.5},
	} {
		t.Run(fmt.Sprintf("%d", c.dim), func(t *testing.T) {
			space := Space{Members: members, Dim: c.dim}
			start := make([]float32, members*c.dim)
			for i := range start {
				start[i] = float32(math.Sin(float64(3*i + 1)))
			}
			tr := newTrial(t, eng, c.algorithm, space, start)
			es := tr.strategy.(*cmaES)
			var refs [members]*refCMAES
			for m := range refs {
				refs[m] = newRefCMAES(wide(start[m*c.dim:][:c.dim]), c.std)
			}
			worst, worstC, worstB, worstD := 0.0, 0.0, 0.0, 0.0
			const generations = 7
			for g := range generations {
				var frames [members]*mat.Dense
				var roots [members]*mat.Dense
				for m := range frames {
					basis, scale := tr.frame(m)
					roots[m] = inverseRoot(basis, scale)
					for i, d := range scale { // y = Bᵀ D z
						for j := range scale {
							basis.Set(i, j, basis.At(i, j)*d)
						}
					}
					frames[m] = basis
				}
				asked, scores := tr.step(ellipsoid)
				for m, ref := range refs {
					steps := make([][]float64, es.Population())
					for k := range steps {
						z := mat.NewVecDense(c.dim, es.draw.Draw(eng.Seed(), m, k, g))
						y := mat.NewVecDense(c.dim, nil)
						y.MulVec(frames[m].T(), z)
						x := mat.NewVecDense(c.dim, nil)
						x.AddScaledVec(ref.mean, ref.sigma, y)
						steps[k] = y.RawVector().Data
						if d := deviation(asked[m][k], x.RawVector().Data); !(d <= 1e-5) {
							t.Fatalf("generation %d: candidate %d of member %d deviates by %.1e", g, k, m, d)
						}
					}
					ref.tell(steps, wide(scores[m]), roots[m])
					for name, want := range map[string][]float64{
						"mean": ref.mean.RawVector().Data, "sigma": {ref.sigma}, "path_sigma": ref.ps.RawVector().Data, "path_c": ref.pc.RawVector().Data,
					} {
						tensor := tr.state.Lookup("ec/" + name)
						d := deviation(tr.values(tensor)[m*tensor.Len()/members:][:len(want)], want)
						if worst = max(worst, d); !(d <= 1e-5) {
							t.Errorf("generation %d: %s of member %d deviates by %.1e", g, name, m, d)
						}
					}
					got := tr.covariance(m)
					got.Sub(got, ref.c)
					worstC = max(worstC, max(mat.Max(got), -mat.Min(got))/mat.Max(ref.c))
					if (g+1)%es.eigen.gap == 0 {
						basis, scale := tr.frame(m)
						b, d := checkFrame(t, basis, scale, ref.c)
						worstB, worstD = max(worstB, b), max(worstD, d)
					}
				}
			}
			t.Logf("largest relative deviations: %.1e, of the covariance matrix %.1e, of roots of eigenvalues %.1e; eigenvectors orthogonal to %.1e",
				worst, worstC, worstD, worstB)
			if !(worstC <= 1e-5 && worstB <= 5e-6 && worstD <= 1e-5) {
				t.Error("they deviate too much")
			}
		})
	}
}

// TestCMA compares generations with pycma's (tools/reference/ec/cma_es.py). Its candidates replace those drawn here,
// since order and signs of eigenvectors differ between programs.
func TestCMA(t *testing.T) {
	text, err := os.ReadFile("testdata/cma.json")
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Cases []struct {
			Dim, Population, Gap int
			Sigma                float64
			Start                []float32
			Generations          []struct {
				Candidates             [][]float64
				Fitness                []float32
				Mean, PathSigma, PathC []float64
				Sigma                  float64
				Covariance             []float64
			}
		}
	}
	if err := json.Unmarshal(text, &data); err != nil {
		t.Fatal(err)
	}
	if len(data.Cases) < 4 {
		t.Fatalf("%d cases", len(data.Cases))
	}
	eng := engine.New(open(t))
	for _, c := range data.Cases {
		t.Run(fmt.Sprintf("%d/%d", c.Dim, c.Population), func(t *testing.T) {
			space := Space{Members: 1, Dim: c.Dim}
			tr := newTrial(t, eng, lazy{CMAESConfig{Population: c.Population, InitStd: c.Sigma}, c.Gap}, space, c.Start)
			es := tr.strategy.(*cmaES)
			worst, worstC := 0.0, 0.0
			mean, sigma := wide(c.Start), c.Sigma
			for g, want := range c.Generations {
				basis, _ := tr.frame(0)
				tr.must(tr.ask.Run(t.Context()))
				row := space.Row()
				noise, steps := make([]float32, (c.Population+1)*row), make([]float32, (c.Population+1)*row)
				for k, x := range want.Candidates {
					y := mat.NewVecDense(c.Dim, nil)
					for i := range x {
						y.SetVec(i, (x[i]-mean[i])/sigma)
						steps[k*row+i] = float32(y.AtVec(i))
					}
					y.MulVec(basis, y) // D z
					for i, v := range y.RawVector().Data {
						noise[k*row+i] = float32(v)
					}
				}
				tr.must(errors.Join(es.noise.WriteFloat32(t.Context(), noise), es.steps.WriteFloat32(t.Context(), steps)))
				tr.learn([][]float32{want.Fitness})
				mean, sigma = want.Mean, want.Sigma
				for name, values := range map[string][]float64{"mean": want.Mean, "sigma": {want.Sigma}, "path_sigma": want.PathSigma, "path_c": want.PathC} {
					d := deviation(tr.values(tr.state.Lookup("ec/" + name))[:len(values)], values)
					if worst = max(worst, d); !(d <= 1e-5) {
						t.Errorf("generation %d: %s deviates by %.1e", g, name, d)
					}
				}
				got := tr.covariance(0)
				ref := mat.NewDense(c.Dim, c.Dim, want.Covariance)
				got.Sub(got, ref)
				worstC = max(worstC, max(mat.Max(got), -mat.Min(got))/mat.Max(ref))
			}
			t.Logf("largest relative deviation %.1e, of the covariance matrix %.1e", worst, worstC)
			if !(worstC <= 1e-5) {
				t.Error("the covariance matrix deviates too much")
			}
		})
	}
}

// TestCMAESMemory: if the matrix does not fit, the error states the memory that it needs and which algorithms fit.
func TestCMAESMemory(t *testing.T) {
	eng := engine.New(open(t))
	s := eng.NewState()
	defer s.Close()
	_, err := DefaultCMAES().New(s, engine.NewClock(s), engine.NewHyper(s, 1), Space{Members: 1, Dim: 70000})
	var full *vk.OutOfMemoryError
	if !errors.As(err, &full) || full.Need < 4*70000*70000 {
		t.Fatalf("error %v; want one of too little memory", err)
	}
	t.Log(err)
	const others = "sep-cma-es, lm-ma-es, cr-fm-nes, snes and openes"
	for _, want := range []string{"70000 × 70000", others} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q; want %q in it", err, want)
		}
	}
	dim := tridiagonalMost(eng.Device().Info()) + 1
	_, err = DefaultCMAES().New(s, engine.NewClock(s), engine.NewHyper(s, 1), Space{Members: 1, Dim: dim})
	if err == nil || !strings.Contains(err.Error(), others) {
		t.Errorf("%d dimensions: error %v; want one that names %s", dim, err, others)
	}
}
