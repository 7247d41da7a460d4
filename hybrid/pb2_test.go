package hybrid

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/evorl/evorl/engine"
)

// bandit is the Gaussian process of PB2 in float64, by gonum.
type bandit struct {
	x     [][]float64
	t, y  []float64 // standardised gains; settings without one have none
	d     int
	scale float64 // 1 / (2 l^2)
	noise float64
	keep  float64 // 1 - w
}

func newBandit(x [][]float64, t, gains []float64, d, setting int) *bandit {
	b := &bandit{d: d}
	for i, g := range gains {
		if !math.IsNaN(g) && !math.IsInf(g, 0) {
			b.x, b.t, b.y = append(b.x, x[i]), append(b.t, t[i]), append(b.y, g)
		}
	}
	mean, squares := 0.0, 0.0
	for _, g := range b.y {
		mean += g / float64(len(b.y))
	}
	for _, g := range b.y {
		squares += (g - mean) * (g - mean) / float64(len(b.y))
	}
	for i := range b.y {
		if b.y[i] -= mean; squares > 0 {
			b.y[i] /= math.Sqrt(squares)
		}
	}
	l := 0.1 * math.Exp2(float64(setting%5)) * math.Sqrt(float64(d))
	b.scale, b.noise = 1/(2*l*l), math.Pow(10, float64(setting/5%3)-2)
	b.keep = 1 - []float64{0, 0.05, 0.2, 0.5}[setting/15]
	return b
}

func (b *bandit) covariance(x []float64, s float64, y []float64, t float64) float64 {
	squares := 0.0
	for i := range b.d {
		squares += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Exp(-squares*b.scale) * math.Pow(b.keep, math.Abs(s-t)/2)
}

func (b *bandit) factor() *mat.Cholesky {
	k := mat.NewSymDense(len(b.x), nil)
	for i := range b.x {
		for j := range i + 1 {
			k.SetSym(i, j, b.covariance(b.x[i], b.t[i], b.x[j], b.t[j]))
		}
		k.SetSym(i, i, 1+b.noise)
	}
	c := new(mat.Cholesky)
	if !c.Factorize(k) {
		panic("a covariance that is not positive")
	}
	return c
}

// fit is the most likely variance and the logarithm of the likelihood. It needs an observation.
func (b *bandit) fit() (variance, likelihood float64) {
	y, a := mat.NewVecDense(len(b.y), b.y), new(mat.VecDense)
	c := b.factor()
	if err := c.SolveVecTo(a, y); err != nil {
		panic(err)
	}
	n := float64(len(b.y))
	variance = max(mat.Dot(y, a)/n, 1e-6)
	return variance, -n/2*math.Log(variance) - c.LogDet()/2
}

// bounds are the upper confidence bounds of candidates. Settings beyond the observations take deviation away alone.
func (b *bandit) bounds(candidates [][]float64, t, variance float64) []float64 {
	all, seen := b.factor(), *b
	seen.x, seen.t = b.x[:len(b.y)], b.t[:len(b.y)]
	weights := new(mat.VecDense)
	if len(b.y) > 0 {
		if err := seen.factor().SolveVecTo(weights, mat.NewVecDense(len(b.y), b.y)); err != nil {
			panic(err)
		}
	}
	beta := max(0.2+math.Log(0.4*float64(max(len(b.y), 1))), 0)
	out := make([]float64, len(candidates))
	for i, x := range candidates {
		k, a, mean := mat.NewVecDense(len(b.x), nil), new(mat.VecDense), 0.0
		for j := range b.x {
			k.SetVec(j, b.covariance(b.x[j], b.t[j], x, t))
			if j < len(b.y) {
				mean += k.AtVec(j) * weights.AtVec(j)
			}
		}
		if err := all.SolveVecTo(a, k); err != nil {
			panic(err)
		}
		out[i] = mean + math.Sqrt(beta*variance*max(1-mat.Dot(k, a), 0))
	}
	return out
}

// TestPB2 follows exchanges in float64: what is observed, how likely each of the process's settings is, and that every chosen setting is a candidate with
// the greatest upper confidence bound, given those chosen before. Some members' fitness is not finite.
func TestPB2(t *testing.T) {
	for _, c := range []struct {
		members int
		search  map[string]Prior
	}{
		{3, map[string]Prior{"learning_rate": {LogUniform, 1e-4, 1e-2}}},
		{7, map[string]Prior{"learning_rate": {LogUniform, 1e-4, 1e-2}, "discount": {Horizon, 2, 7}, "gae_lambda": {Horizon, 1, 4},
			"clip_epsilon": {Uniform, 0.1, 0.4}, "entropy_weight": {LogUniform, 1e-4, 0.1}}},
	} {
		cfg := overPPO()
		cfg.Explore, cfg.Search, cfg.Top, cfg.Bottom = PB2, c.search, 0.3, 0.45
		p := kinds[0].over(t, newPPO(t, 5, "CartPole-v1", small(c.members)), cfg)
		initialized(t, p)
		d, rng := len(p.names), rand.New(rand.NewPCG(uint64(c.members), 4))
		var x [][]float64
		var at, gains []float64
		previous := make([]float64, c.members)
		for i := range previous {
			previous[i] = math.NaN()
		}
		rows := p.exchange.explorer.(*pb2).rows
		for exchange := range 2 + rows/c.members { // the oldest rows are forgotten
			own := unitsOf(t, p)
			fitness := make([]float32, c.members)
			for i := range fitness {
				fitness[i] = float32(100*float64(exchange) - 300*own[i][0] + 10*rng.NormFloat64())
				if rng.IntN(12) == 0 {
					fitness[i] = float32(math.NaN())
				}
				x, at, gains = append(x, own[i]), append(at, float64(exchange)), append(gains, float64(fitness[i])-previous[i])
			}
			if err := p.fitness.WriteFloat32(t.Context(), fitness); err != nil {
				t.Fatal(err)
			}
			if err := p.Clock().Tensor().WriteUint32(t.Context(), []uint32{uint32(10 * exchange), 0}[:p.Clock().Tensor().Len()]); err != nil {
				t.Fatal(err)
			}
			run(t, p, p.recordExchange)
			if n := len(x) - rows; n > 0 {
				x, at, gains = x[n:], at[n:], gains[n:]
			}
			parents := words(t, p.parent)
			checkLikelihood(t, p, x, at, gains)
			checkChoices(t, p, x, at, gains, own, parents, exchange)
			for i, parent := range parents {
				previous[i] = float64(fitness[parent])
			}
		}
		if d != len(c.search) {
			t.Errorf("it searches %v", p.names)
		}
	}
}

// unitsOf are the members' hyperparameters as unit coordinates.
func unitsOf(t *testing.T, p *PBT) [][]float64 {
	t.Helper()
	out := make([][]float64, p.fitness.Len())
	for _, name := range p.names {
		low, high := ends(p.cfg.Search[name])
		for i, v := range values(t, p.inner.Hyper().Lookup(name)) {
			out[i] = append(out[i], min(max((toCoordinate(p.cfg.Search[name], float64(v))-low)/(high-low), 0), 1))
		}
	}
	return out
}

func checkLikelihood(t *testing.T, p *PBT, x [][]float64, at, gains []float64) {
	t.Helper()
	for setting, got := range values(t, p.exchange.explorer.(*pb2).likelihood) {
		b := newBandit(x, at, gains, len(p.names), setting)
		if len(b.y) == 0 {
			continue
		}
		if _, want := b.fit(); !(math.Abs(float64(got)-want) <= 2e-3*(1+math.Abs(want))) {
			t.Errorf("likelihood %g of setting %d by %d observations; want %g", got, setting, len(b.y), want)
		}
	}
}

func checkChoices(t *testing.T, p *PBT, x [][]float64, at, gains []float64, own [][]float64, parents []uint32, exchange int) {
	t.Helper()
	best, likelihoods := 0, values(t, p.exchange.explorer.(*pb2).likelihood)
	for i, l := range likelihoods {
		if l > likelihoods[best] {
			best = i
		}
	}
	b, now, variance := newBandit(x, at, gains, len(p.names), best), float64(exchange+1), 1e-6
	if len(b.y) > 0 {
		variance, _ = b.fit()
	}
	for i, parent := range parents {
		if int(parent) == i {
			b.x, b.t = append(b.x, own[i]), append(b.t, now)
		}
	}
	after := unitsOf(t, p)
	for i, parent := range parents {
		if int(parent) == i {
			continue
		}
		candidates := make([][]float64, pb2Candidates)
		for k := range candidates {
			rng := engine.NewRng(p.State().Engine().Seed(), p.stream("pb2", ""), uint32(i), uint32(k), uint32(10*exchange))
			for j := range p.names {
				u, z := float64(rng.Uniform()), float64(rng.Normal())
				if k%2 == 1 {
					u = min(max(own[parent][j]+pb2Spread*z, 0), 1)
				}
				candidates[k] = append(candidates[k], u)
			}
		}
		bounds := b.bounds(candidates, now, variance)
		nearest, greatest, distance := 0, 0, math.Inf(1)
		for k, candidate := range candidates {
			sum := 0.0
			for j, u := range candidate {
				sum += math.Abs(u - after[i][j])
			}
			if sum < distance {
				nearest, distance = k, sum
			}
			if bounds[k] > bounds[greatest] {
				greatest = k
			}
		}
		if distance > 1e-4 {
			t.Fatalf("exchange %d: member %d is given %v, which is no candidate", exchange, i, after[i])
		}
		if bounds[nearest] < bounds[greatest]-1e-3 {
			t.Errorf("exchange %d: member %d is given %v, with the bound %g; %v has %g", exchange, i, after[i], bounds[nearest], candidates[greatest], bounds[greatest])
		}
		b.x, b.t = append(b.x, candidates[nearest]), append(b.t, now)
	}
}
