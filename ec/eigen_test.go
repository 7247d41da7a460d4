package ec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/engine"
)

// decomposition is a stand-alone eigen.
type decomposition struct {
	*eigen
	state *engine.State
	step  *engine.Program
}

func newDecomposition(t testing.TB, eng *engine.Engine, space Space, jacobi bool) *decomposition {
	t.Helper()
	s := eng.NewState()
	d := &decomposition{eigen: newEigen(s, engine.NewClock(s), space, 1), state: s}
	if jacobi {
		d.tridiagonal = nil
	} else if d.tridiagonal == nil {
		d.tridiagonal = newTridiagonal(s, space)
	}
	ctx := t.Context()
	for _, err := range []error{s.Zero(ctx), s.Poison(ctx), d.init(ctx), d.keep.Fill(ctx, 1), d.change.Fill(ctx, 0)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if d.step, err = eng.Record("eigen", d.record); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.step.Free()
		_ = s.Close()
	})
	return d
}

// spectrum returns a matrix [dim][dim] of a kind.
func spectrum(kind string, dim int, random *rand.Rand) *mat.Dense {
	h := mat.NewDense(dim, dim, nil)
	switch kind {
	case "identity":
		for i := range dim {
			h.Set(i, i, 1)
		}
	case "graded": // D S D, S near the identity
		for i := range dim {
			for j := range i + 1 {
				v := random.NormFloat64() * 0.3 / math.Sqrt(float64(dim))
				if i == j {
					v = 1
				}
				v *= math.Pow(1e-5, 2-float64(i+j)/float64(max(1, dim-1)))
				h.Set(i, j, v)
				h.Set(j, i, v)
			}
		}
	case "update": // as in CMA-ES: a few steps added to the identity
		for i := range dim {
			h.Set(i, i, 0.98)
		}
		for range 10 {
			z := mat.NewVecDense(dim, nil)
			for i := range dim {
				z.SetVec(i, random.NormFloat64())
			}
			h.RankOne(h, 0.02, z, z)
		}
	case "random":
		for range dim + 5 {
			z := mat.NewVecDense(dim, nil)
			for i := range dim {
				z.SetVec(i, random.NormFloat64())
			}
			h.RankOne(h, 1e4, z, z)
		}
	}
	return h
}

// TestEigen compares decompositions by both methods with gonum's.
func TestEigen(t *testing.T) {
	eng := engine.New(open(t))
	random := rand.New(rand.NewPCG(1, 2))
	const members = 2
	for _, c := range []struct {
		dim    int
		jacobi bool
	}{{1, true}, {2, true}, {9, true}, {20, true}, {61, true}, {2, false}, {3, false}, {8, false}, {17, false}, {70, false}, {203, false}} {
		for _, kind := range []string{"identity", "graded", "update", "random"} {
			t.Run(fmt.Sprintf("%d/%v/%s", c.dim, c.jacobi, kind), func(t *testing.T) {
				space := Space{Members: members, Dim: c.dim}
				e := newDecomposition(t, eng, space, c.jacobi)
				row := space.Row()
				values := make([]float32, members*c.dim*row)
				var matrices [members]*mat.Dense
				for m := range matrices {
					h := spectrum(kind, c.dim, random)
					for i := range c.dim {
						for j := range c.dim {
							values[(m*c.dim+i)*row+j] = float32(h.At(i, j))
							h.Set(i, j, float64(float32(h.At(i, j))))
						}
					}
					matrices[m] = h
				}
				ctx := t.Context()
				unit := make([]float32, members*row) // of the previous matrix
				for i := range unit {
					unit[i] = float32(math.Sqrt(mat.Max(matrices[0])))
				}
				for _, err := range []error{e.covariance.WriteFloat32(ctx, values), e.scale.WriteFloat32(ctx, unit), e.step.Run(ctx)} {
					if err != nil {
						t.Fatal(err)
					}
				}
				read := func(x *engine.Tensor) []float32 {
					v, err := x.ReadFloat32(ctx)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
				basis, scale, rest := read(e.basis), read(e.scale), read(e.covariance)
				for m, h := range matrices {
					b, d := mat.NewDense(c.dim, c.dim, nil), wide(scale[m*row:][:c.dim])
					for i := range c.dim {
						for j := range c.dim {
							b.Set(i, j, float64(basis[(m*c.dim+i)*row+j]))
							if r := rest[(m*c.dim+i)*row+j]; i != j && !(math.Abs(float64(r)) <= 1e-6*d[i]*d[j]) {
								t.Fatalf("number (%d, %d) of the matrix is %g afterwards; eigenvalues %g and %g", i, j, r, d[i]*d[i], d[j]*d[j])
							}
						}
					}
					orthogonal, roots := checkFrame(t, b, d, h)
					// Bᵀ D² B is the matrix.
					var whole mat.Dense
					for i := range c.dim {
						for j := range c.dim {
							b.Set(i, j, b.At(i, j)*d[i])
						}
					}
					whole.Mul(b.T(), b)
					whole.Sub(&whole, h)
					far := max(mat.Max(&whole), -mat.Min(&whole)) / mat.Max(h)
					t.Logf("member %d: eigenvectors orthogonal to %.1e, roots of eigenvalues to %.1e, matrix to %.1e", m, orthogonal, roots, far)
					most := 2e-5
					switch {
					case kind == "random":
						most = 5e-3 // condition numbers up to 1e5 limit the accuracy in float32
					case kind == "graded" && !c.jacobi:
						most = 2e-3 // eigenvalues from 1 to 1e-10
					}
					if !(orthogonal <= 1e-5 && far <= 1e-5 && roots <= most) {
						t.Errorf("member %d deviates too much: %v", m, slices.Sorted(slices.Values(d))[:min(4, c.dim)])
					}
				}
			})
		}
	}
}

// TestEigenOnGPUs: GPUs use Jacobi's method as long as matrices fit the shared memory, software drivers up to dimension 12. TestEigen runs
// both methods on every device.
func TestEigenOnGPUs(t *testing.T) {
	eng := engine.New(open(t))
	info := eng.Device().Info()
	for _, dim := range []int{12, 13, 40, 60} {
		if !jacobiFits(asGPU(info), dim) {
			t.Errorf("on a GPU with %d bytes of shared memory, matrices of dimension %d are not decomposed by Jacobi's method", info.Limits.MaxSharedBytes, dim)
		}
		s := eng.NewState()
		defer s.Close()
		e := newEigen(s, engine.NewClock(s), Space{Members: 1, Dim: dim}, 1)
		if jacobi := e.tridiagonal == nil; jacobi != (info.Type.GPU() || dim <= 12) {
			t.Errorf("on a %v, Jacobi's method decomposes matrices of dimension %d: %v", info.Type, dim, jacobi)
		}
	}
}

// BenchmarkEigen measures decompositions of CMA-ES matrices by both methods.
func BenchmarkEigen(b *testing.B) {
	eng := engine.New(open(b))
	for _, c := range []struct {
		dim, members int
		jacobi       bool
	}{
		{10, 16, true}, {10, 16, false}, {20, 16, true}, {20, 16, false}, {40, 16, true}, {40, 16, false}, {60, 1, true}, {60, 1, false},
		{60, 16, true}, {60, 16, false}, {100, 1, false}, {300, 1, false}, {1000, 1, false},
	} {
		name := fmt.Sprintf("dim%d/members%d/ql", c.dim, c.members)
		if c.jacobi {
			name = fmt.Sprintf("dim%d/members%d/jacobi", c.dim, c.members)
		}
		b.Run(name, func(b *testing.B) {
			space := Space{Members: c.members, Dim: c.dim}
			e := newDecomposition(b, eng, space, c.jacobi)
			random := rand.New(rand.NewPCG(1, 2))
			row := space.Row()
			values := make([]float32, c.members*c.dim*row)
			for m := range c.members {
				h := spectrum("update", c.dim, random)
				for i := range c.dim {
					for j := range c.dim {
						values[(m*c.dim+i)*row+j] = float32(h.At(i, j))
					}
				}
			}
			var before, after syscall.Rusage
			cpu := time.Duration(0)
			for b.Loop() {
				b.StopTimer()
				if err := e.covariance.WriteFloat32(b.Context(), values); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
				if err := e.step.Run(b.Context()); err != nil {
					b.Fatal(err)
				}
				_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
				cpu += time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
			}
			b.ReportMetric(float64(cpu.Microseconds())/1e3/float64(b.N), "cpu-ms/op")
			if err := e.covariance.WriteFloat32(b.Context(), values); err != nil {
				b.Fatal(err)
			}
			times, err := e.step.Profile(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			for _, k := range times {
				b.Logf("%s: %d calls, %v", k.Label, k.Calls, k.Time)
			}
		})
	}
}

// TestEigenDrift: eigenvectors stay orthogonal over many decompositions.
func TestEigenDrift(t *testing.T) {
	eng := engine.New(open(t))
	random := rand.New(rand.NewPCG(3, 4))
	space := Space{Members: 1, Dim: 22}
	for _, jacobi := range []bool{true, false} {
		e := newDecomposition(t, eng, space, jacobi)
		row := space.Row()
		change := make([]float32, space.Dim*row)
		ctx := t.Context()
		if err := e.keep.Fill(ctx, 0.9); err != nil {
			t.Fatal(err)
		}
		for step := range 300 {
			scale, err := e.scale.ReadFloat32(ctx)
			if err != nil {
				t.Fatal(err)
			}
			clear(change)
			for range 8 {
				z := make([]float64, space.Dim)
				for i := range z {
					z[i] = random.NormFloat64() * float64(scale[i])
				}
				for i := range z {
					for j := range z {
						change[i*row+j] += float32(0.1 / 8 * z[i] * z[j])
					}
				}
			}
			if err := e.change.WriteFloat32(ctx, change); err != nil {
				t.Fatal(err)
			}
			if err := e.step.Run(ctx); err != nil {
				t.Fatal(err)
			}
			if step != 9 && step != 99 && step != 299 {
				continue
			}
			basis, err := e.basis.ReadFloat32(ctx)
			if err != nil {
				t.Fatal(err)
			}
			b := mat.NewDense(space.Dim, space.Dim, nil)
			for i := range space.Dim {
				b.SetRow(i, wide(basis[i*row:][:space.Dim]))
			}
			var product mat.Dense
			product.Mul(b, b.T())
			for i := range space.Dim {
				product.Set(i, i, product.At(i, i)-1)
			}
			far := max(mat.Max(&product), -mat.Min(&product))
			t.Logf("jacobi %v: after %d decompositions orthogonal to %.1e", jacobi, step+1, far)
			if !(far <= 5e-5) {
				t.Errorf("jacobi %v: after %d decompositions eigenvectors are orthogonal only to %.1e", jacobi, step+1, far)
			}
		}
	}
}
