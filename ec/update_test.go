package ec

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
)

// reference is one search of an algorithm in float64, from its paper's equations.
type reference interface {
	// candidate forms the candidate of the given noise.
	candidate(noise []float64) []float64
	// tell learns from candidates with the given noise and fitness, in the order of the population.
	tell(noise [][]float64, fitness []float64)
	// tensors returns what the device's tensors must equal, by their names in the checkpoint.
	tensors() map[string][]float64
}

// settings are hyperparameters by name.
type settings map[string]float64

// TestUpdates compares generations of every algorithm with its reference. Every member has its own hyperparameters.
func TestUpdates(t *testing.T) {
	eng := engine.New(open(t), engine.Seed(5))
	for _, c := range []updateCase{
		{"adam", OpenESConfig{Population: 10, LearningRate: 0.1, NoiseStd: 0.2, WeightDecay: 0.05, Optimizer: optim.Adam, Mirrored: true,
			Shaping: CenteredRank}, 7, newOpenES(true, CenteredRank, optim.Adam, 0.05)},
		{"adamw", OpenESConfig{Population: 7, LearningRate: 0.1, NoiseStd: 0.3, WeightDecay: 0.1, Optimizer: optim.AdamW,
			Shaping: Standardize}, 5, newOpenES(false, Standardize, optim.AdamW, 0.1)},
		{"rmsprop", OpenESConfig{Population: 34, LearningRate: 0.05, NoiseStd: 0.1, WeightDecay: 0.1, Optimizer: optim.RMSProp,
			Mirrored: true, Shaping: Normalize}, 13, newOpenES(true, Normalize, optim.RMSProp, 0.1)},
		{"sgd", OpenESConfig{Population: 131, LearningRate: 0.0002, NoiseStd: 0.1, WeightDecay: 0.02, Optimizer: optim.SGD, Shaping: Raw},
			21, newOpenES(false, Raw, optim.SGD, 0.02)},
		{"clipup", OpenESConfig{Population: 16, LearningRate: 0.08, NoiseStd: 0.1, WeightDecay: 0.1, Optimizer: optim.ClipUp,
			Mirrored: true, Shaping: CenteredRank}, 9, newOpenES(true, CenteredRank, optim.ClipUp, 0.1)},
		{"groups", OpenESConfig{Population: 21, LearningRate: 0.1, NoiseStd: 0.1, Optimizer: optim.Adam, Shaping: Grouped, Group: 7}, 9, inGroups(7, optim.Adam)},
		{"odd", VanillaESConfig{Population: 23, Elites: 5, NoiseStd: 0.3}, 10, newVanillaES(5)},
		{"all elites", VanillaESConfig{Population: 6, Elites: 6, NoiseStd: 0.3}, 3, newVanillaES(6)},
		{"some directions", ARSConfig{Population: 22, Elites: 4, LearningRate: 0.1, NoiseStd: 0.2}, 11, newARS(4)},
		{"all directions", ARSConfig{Population: 150, Elites: 75, LearningRate: 0.1, NoiseStd: 0.2}, 6, newARS(75)},
		{"clipup", DefaultPGPE(), 30, newPGPE(CenteredRank, optim.ClipUp)},
		{"adam", PGPEConfig{Population: 18, LearningRate: 0.1, DeviationRate: 0.5, InitStd: 0.4, MaxChange: 0.05, Optimizer: optim.Adam,
			CorrectionInterval: 2, Shaping: Standardize}, 9, newHeldPGPE(Standardize, 2)},
		{"raw", PGPEConfig{Population: 18, LearningRate: 0.1, DeviationRate: 0.01, InitStd: 0.4, MaxChange: 0.5, Optimizer: optim.SGD,
			Shaping: Raw}, 5, newPGPE(Raw, optim.SGD)},
		{"default", DefaultSNES(), 10, newSNES},
		{"odd", SNESConfig{Population: 25, LearningRate: 0.9, DeviationRate: 0.3, InitStd: 0.5}, 7, newSNES},
		{"default", DefaultCEM(), 12, newCEM(64)},
		{"odd", CEMConfig{Population: 9, Elites: 4, ExtraVariance: 0.3, FinalExtraVariance: 0.01, ExtraVarianceDecay: 0.2}, 5, newCEM(4)},
		{"divided", CEMConfig{Population: 10, Elites: 5, ExtraVariance: 1e-2, FinalExtraVariance: 0.01, ExtraVarianceDecay: 0.2, DivideVariance: true,
			Mirrored: true}, 6, newDividedCEM(5)},
		{"default", DefaultSepCMAES(), 10, newSepCMAES(0.1)},
		{"odd", SepCMAESConfig{Population: 33, InitStd: 0.7}, 5, newSepCMAES(0.7)},
		{"large", SepCMAESConfig{Population: 100, InitStd: 0.3}, 1030, newSepCMAES(0.3)},
		{"default", DefaultXNES(), 10, newXNES(1)},
		{"odd", XNESConfig{Population: 33, LearningRate: 0.9, DeviationRate: 0.2, ShapeRate: 0.15, InitStd: 0.7}, 5, newXNES(0.7)},
		{"one", XNESConfig{Population: 6, LearningRate: 1, InitStd: 0.3}, 1, newXNES(0.3)},
		{"large", XNESConfig{Population: 40, LearningRate: 1, InitStd: 0.3}, 67, newXNES(0.3)},
		{"default", DefaultLMMAES(), 30, newLMMAES(0.1, 0)},
		{"odd", LMMAESConfig{Population: 7, Vectors: 3, InitStd: 0.7}, 21, newLMMAES(0.7, 3)},
		{"small", LMMAESConfig{Population: 12, InitStd: 0.5}, 5, newLMMAES(0.5, 0)},
		{"large", LMMAESConfig{Population: 24, InitStd: 0.3}, 1030, newLMMAES(0.3, 0)},
		{"huge", LMMAESConfig{Population: 4, InitStd: 0.3}, 40001, newLMMAES(0.3, 0)},
		{"default", DefaultCRFMNES(), 10, newCRFMNES(0.1)},
		{"small", CRFMNESConfig{Population: 8, InitStd: 0.5}, 3, newCRFMNES(0.5)},
		{"one", CRFMNESConfig{Population: 6, InitStd: 0.5}, 1, newCRFMNES(0.5)},
		{"large", CRFMNESConfig{Population: 32, InitStd: 0.3}, 1030, newCRFMNES(0.3)},
		{"huge", CRFMNESConfig{Population: 4, InitStd: 0.3}, 70001, newCRFMNES(0.3)},
	} {
		t.Run(c.algorithm.Name()+"/"+c.name, func(t *testing.T) { checkUpdates(t, eng, c, nil) })
	}
}

// updateCase is an algorithm with its reference.
type updateCase struct {
	name      string
	algorithm Algorithm
	dim       int
	make      func(h settings, start []float64, population int) reference
}

// checkUpdates compares five generations of three members with references. others changes the candidates told; nil:
// unchanged.
func checkUpdates(t *testing.T, eng *engine.Engine, c updateCase, others func(member, candidate int, x []float32) []float32) {
	checkUpdatesIn(t, eng, c, nil, others)
}

// checkUpdatesIn is checkUpdates in a space of matrices and vectors.
func checkUpdatesIn(
	t *testing.T, eng *engine.Engine, c updateCase, parameters []nn.Parameter, others func(member, candidate int, x []float32) []float32,
) {
	const members = 3
	space := Space{Members: members, Dim: c.dim, Parameters: parameters}
	start := make([]float32, members*c.dim)
	for i := range start {
		start[i] = float32(math.Sin(float64(3*i + 1)))
	}
	tr := newTrial(t, eng, c.algorithm, space, start)
	if others != nil {
		tr.change(others)
	}
	refs := references(tr, c, start)
	population := tr.strategy.Population()
	noise := NewNoise(tr.scope(), tr.clock, space, population, mirrored(c.algorithm))
	if rank := Rank(c.algorithm); rank > 0 {
		layout, err := space.lowRank(rank)
		tr.must(err)
		noise.lowRank = &lowRank{LowRank: layout}
		cfg, _ := c.algorithm.(OpenESConfig)
		noise.reuse(cfg.NoiseReuse)
	}
	worst := 0.0
	for g := range 5 {
		given, scores := tr.step(ellipsoid)
		for m, ref := range refs {
			z := make([][]float64, population)
			for k := range z {
				z[k] = noise.Draw(eng.Seed(), m, k, g)
				if d := deviation(tr.proposed[m][k], ref.candidate(z[k])); !(d <= 2e-5) {
					t.Fatalf("generation %d: candidate %d of member %d deviates by %.1e", g, k, m, d)
				}
				if !slices.Equal(given[m][k], tr.proposed[m][k]) {
					z[k] = noiseOf(ref, wide(given[m][k]), c.algorithm)
				}
			}
			ref.tell(z, wide(scores[m]))
			want := ref.tensors()
			for _, name := range slices.Sorted(maps.Keys(want)) {
				tensor := tr.state.Lookup("ec/" + name)
				if tensor == nil {
					t.Fatalf("there is no tensor %q", name)
				}
				got := tr.values(tensor)[m*tensor.Len()/members:]
				d := deviation(got[:len(want[name])], want[name])
				if worst = max(worst, d); !(d <= 2e-5) {
					t.Errorf("generation %d: %s of member %d deviates by %.1e", g, name, m, d)
				}
			}
		}
	}
	t.Logf("largest relative deviation %.1e", worst)
}

// references returns one for each member of a trial, with its own hyperparameters.
func references(tr *trial, c updateCase, start []float32) []reference {
	tr.t.Helper()
	refs := make([]reference, tr.space.Members)
	values := map[string][]float32{}
	for _, name := range tr.hyper.Names() {
		v := tr.values(tr.hyper.Lookup(name))
		for m := range v {
			v[m] *= 1 + 0.1*float32(m)
		}
		tr.must(tr.hyper.Lookup(name).WriteFloat32(tr.t.Context(), v))
		values[name] = v
	}
	for m := range refs {
		h := settings{}
		for name, v := range values {
			h[name] = float64(v[m])
		}
		refs[m] = c.make(h, wide(start[m*c.dim:][:c.dim]), tr.strategy.Population())
	}
	return refs
}

func mirrored(a Algorithm) bool {
	switch c := a.(type) {
	case OpenESConfig:
		return c.Mirrored
	case CEMConfig:
		return c.Mirrored
	case ARSConfig, PGPEConfig, CRFMNESConfig:
		return true
	}
	return false
}

// ellipsoid has its maximum, 0, at 1, and dimensions of different weight.
func ellipsoid(_, _ int, x []float32) float32 {
	sum := 0.0
	for i, v := range x {
		sum -= math.Pow(100, float64(i)/float64(len(x))) * (float64(v) - 1) * (float64(v) - 1)
	}
	return float32(sum)
}

// step is an optimizer in float64 (tested itself in engine/optim).
type step struct {
	rule          optim.Rule
	rate, decay   float64
	mean          []float64
	first, second []float64
	updates       int
	interval      int // updates that bias corrections count as one; 0: 1
}

func newStep(rule optim.Rule, rate, decay float64, start []float64) step {
	return step{rule: rule, rate: rate, decay: decay, mean: slices.Clone(start), first: make([]float64, len(start)), second: make([]float64, len(start))}
}

// ascend takes a step along a gradient.
func (o *step) ascend(gradient []float64) {
	o.updates++
	t, norm, speed := float64((o.updates-1)/max(o.interval, 1)+1), 0.0, 0.0
	for i, g := range gradient {
		if o.rule != optim.AdamW && o.rule != optim.ClipUp {
			g -= o.decay * o.mean[i]
			gradient[i] = g
		}
		norm += g * g
	}
	for i, g := range gradient {
		switch o.rule {
		case optim.SGD:
			o.first[i] = 0.9*o.first[i] + g
			o.mean[i] += o.rate * o.first[i]
		case optim.RMSProp:
			o.second[i] = 0.99*o.second[i] + 0.01*g*g
			o.mean[i] += o.rate * g / (math.Sqrt(o.second[i]) + 1e-8)
		case optim.Adam, optim.AdamW:
			o.first[i], o.second[i] = 0.9*o.first[i]+0.1*g, 0.999*o.second[i]+0.001*g*g
			m, v := o.first[i]/(1-math.Pow(0.9, t)), o.second[i]/(1-math.Pow(0.999, t))
			direction := m / (math.Sqrt(v) + 1e-8)
			if o.rule == optim.AdamW {
				direction -= o.decay * o.mean[i]
			}
			o.mean[i] += o.rate * direction
		case optim.ClipUp:
			o.first[i] = 0.9*o.first[i] + o.rate*g/math.Sqrt(norm)
			speed += o.first[i] * o.first[i]
		}
	}
	if o.rule == optim.ClipUp {
		for i := range o.mean {
			o.first[i] *= min(1, 0.15/math.Sqrt(speed))
			o.mean[i] += o.first[i] - o.rate*o.decay*o.mean[i]
		}
	}
}

// isotropic is the common part of distributions with one deviation.
type isotropic struct {
	step
	std float64
}

func (s *isotropic) candidate(noise []float64) []float64 {
	x := slices.Clone(s.mean)
	for i, z := range noise {
		x[i] += s.std * z
	}
	return x
}

func (s *isotropic) tensors() map[string][]float64 { return map[string][]float64{"params": s.mean} }

type refOpenES struct {
	isotropic
	mirrored bool
	shaping  Shaping
	group    int
}

// inGroups is newOpenES of shaping grouped, without mirrored noise and weight decay.
func inGroups(group int, rule optim.Rule) func(settings, []float64, int) reference {
	return func(h settings, start []float64, _ int) reference {
		return &refOpenES{isotropic{newStep(rule, h["learning_rate"], 0, start), h["noise_std"]}, false, Grouped, group}
	}
}

func newOpenES(mirrored bool, shaping Shaping, rule optim.Rule, decay float64) func(settings, []float64, int) reference {
	return func(h settings, start []float64, _ int) reference {
		return &refOpenES{isotropic{newStep(rule, h["learning_rate"], decay, start), h["noise_std"]}, mirrored, shaping, 0}
	}
}

func (s *refOpenES) tell(noise [][]float64, fitness []float64) {
	gradient := make([]float64, len(s.mean))
	weights := shape(s.shaping, fitness, nil)
	if s.shaping == Grouped {
		weights = grouped(fitness, s.group)
	}
	for k, w := range weights {
		for i, z := range noise[k] {
			gradient[i] += w * z / (float64(len(noise)) * s.std)
		}
	}
	s.ascend(gradient)
}

type refVanillaES struct {
	isotropic
	elites int
}

func newVanillaES(elites int) func(settings, []float64, int) reference {
	return func(h settings, start []float64, _ int) reference {
		return &refVanillaES{isotropic{newStep(optim.SGD, 0, 0, start), h["noise_std"]}, elites}
	}
}

func (s *refVanillaES) tell(noise [][]float64, fitness []float64) {
	sum, rank := 0.0, ranks(fitness)
	for j := 1; j <= s.elites; j++ {
		sum += math.Log(float64(s.elites)+0.5) - math.Log(float64(j))
	}
	for k, r := range rank {
		if r < s.elites {
			for i, z := range noise[k] {
				s.mean[i] += s.std * (math.Log(float64(s.elites)+0.5) - math.Log(float64(r+1))) / sum * z
			}
		}
	}
}

type refARS struct {
	isotropic
	elites int
}

func newARS(elites int) func(settings, []float64, int) reference {
	return func(h settings, start []float64, _ int) reference {
		return &refARS{isotropic{newStep(optim.SGD, h["learning_rate"], 0, start), h["noise_std"]}, elites}
	}
}

func (s *refARS) tell(noise [][]float64, fitness []float64) {
	better := make([]float64, len(fitness)/2)
	for d := range better {
		better[d] = max(fitness[2*d], fitness[2*d+1])
	}
	gradient, used := make([]float64, len(s.mean)), []float64{}
	for d, r := range ranks(better) {
		if r < s.elites {
			used = append(used, fitness[2*d], fitness[2*d+1])
			for i, z := range noise[2*d] {
				gradient[i] += (fitness[2*d] - fitness[2*d+1]) * z
			}
		}
	}
	mean, variance := 0.0, 0.0
	for _, f := range used {
		mean += f / float64(len(used))
	}
	for _, f := range used {
		variance += (f - mean) * (f - mean) / float64(len(used))
	}
	for i, g := range gradient {
		s.mean[i] += s.rate / (float64(s.elites) * math.Sqrt(variance)) * g
	}
}

// separate is the common part of distributions with a deviation per dimension.
type separate struct {
	step
	deviation []float64
	tied      []nn.Parameter // matrices whose elements share a deviation
}

func newSeparate(step step, deviation float64) separate {
	return separate{step: step, deviation: slices.Repeat([]float64{deviation}, len(step.mean))}
}

// tie makes the gradients of deviations that are one their mean.
func (s *separate) tie(gradient []float64) {
	for _, m := range s.tied {
		mean := 0.0
		for _, g := range gradient[m.At:][:m.Len()] {
			mean += g / float64(m.Len())
		}
		for i := range m.Len() {
			gradient[m.At+i] = mean
		}
	}
}

func (s *separate) candidate(noise []float64) []float64 {
	x := slices.Clone(s.mean)
	for i, z := range noise {
		x[i] += s.deviation[i] * z
	}
	return x
}

func (s *separate) tensors() map[string][]float64 {
	return map[string][]float64{"mean": s.mean, "deviation": s.deviation}
}

type refPGPE struct {
	separate
	shaping      Shaping
	rate, change float64
}

func newPGPE(shaping Shaping, rule optim.Rule) func(settings, []float64, int) reference {
	return func(h settings, start []float64, population int) reference {
		deviation := 0.4
		if population == DefaultPGPE().Population {
			deviation = 0.1
		}
		return &refPGPE{newSeparate(newStep(rule, h["learning_rate"], 0, start), deviation), shaping, h["deviation_rate"], h["max_change"]}
	}
}

// newHeldPGPE is newPGPE with Adam, whose bias corrections count so many generations as one.
func newHeldPGPE(shaping Shaping, interval int) func(settings, []float64, int) reference {
	return func(h settings, start []float64, population int) reference {
		s := newPGPE(shaping, optim.Adam)(h, start, population).(*refPGPE)
		s.interval = interval
		return s
	}
}

func (s *refPGPE) tensors() map[string][]float64 {
	return map[string][]float64{"params": s.mean, "deviation": s.deviation}
}

func (s *refPGPE) tell(noise [][]float64, fitness []float64) {
	f, n := shape(s.shaping, fitness, nil), float64(len(fitness)/2)
	baseline := 0.0
	for _, v := range f {
		baseline += v / float64(len(f))
	}
	mean, deviation := make([]float64, len(s.mean)), make([]float64, len(s.mean))
	for d := range len(fitness) / 2 {
		if noise[2*d+1][0] != -noise[2*d][0] { // a changed pair: each candidate has half of a direction's weight
			for k := 2 * d; k <= 2*d+1; k++ {
				for i, z := range noise[k] {
					e, sigma := s.deviation[i]*z, s.deviation[i]
					mean[i] += (f[k] - baseline) / 2 * e / n
					deviation[i] += (f[k] - baseline) / 2 * (e*e - sigma*sigma) / sigma / n
				}
			}
			continue
		}
		for i, z := range noise[2*d] {
			e, sigma := s.deviation[i]*z, s.deviation[i]
			mean[i] += (f[2*d] - f[2*d+1]) / 2 * e / n
			deviation[i] += ((f[2*d]+f[2*d+1])/2 - baseline) * (e*e - sigma*sigma) / sigma / n
		}
	}
	s.tie(deviation)
	for i, sigma := range s.deviation {
		s.deviation[i] = min(max(sigma+s.rate*deviation[i], sigma-s.change*sigma), sigma+s.change*sigma)
	}
	s.ascend(mean)
}

type refSNES struct {
	separate
	rates [2]float64
}

func newSNES(h settings, start []float64, population int) reference {
	deviation := 1.0
	if population == 25 {
		deviation = 0.5
	}
	return &refSNES{newSeparate(newStep(optim.SGD, 0, 0, start), deviation), [2]float64{h["learning_rate"], h["deviation_rate"]}}
}

func (s *refSNES) tell(noise [][]float64, fitness []float64) {
	n, sum, u := float64(len(fitness)), 0.0, make([]float64, len(fitness))
	for k, r := range ranks(fitness) {
		u[k] = max(0, math.Log(n/2+1)-math.Log(float64(r+1)))
		sum += u[k]
	}
	mean, log := make([]float64, len(s.mean)), make([]float64, len(s.mean))
	for k := range u {
		for i, z := range noise[k] {
			mean[i] += (u[k]/sum - 1/n) * z
			log[i] += (u[k]/sum - 1/n) * (z*z - 1)
		}
	}
	s.tie(log)
	for i, sigma := range s.deviation {
		s.mean[i] += s.rates[0] * sigma * mean[i]
		s.deviation[i] *= math.Exp(s.rates[1] / 2 * log[i])
	}
}

type refCEM struct {
	separate
	elites             int
	extra, last, decay float64
	divisor            float64 // of the elites' variance
}

func newCEM(elites int) func(settings, []float64, int) reference {
	return func(h settings, start []float64, population int) reference {
		variance := 1e-2
		if population == 9 {
			variance = 0.3
		}
		return &refCEM{newSeparate(newStep(optim.SGD, 0, 0, start), math.Sqrt(variance)), elites, h["extra_variance"],
			h["final_extra_variance"], h["extra_variance_decay"], 1}
	}
}

func newDividedCEM(elites int) func(settings, []float64, int) reference {
	return func(h settings, start []float64, population int) reference {
		s := newCEM(elites)(h, start, population).(*refCEM)
		s.divisor = float64(elites)
		return s
	}
}

func (s *refCEM) tell(noise [][]float64, fitness []float64) {
	s.extra += s.decay * (s.last - s.extra)
	weights, sum := make([]float64, len(fitness)), 0.0
	for k, r := range ranks(fitness) {
		if r < s.elites {
			weights[k] = math.Log(float64(1+s.elites) / float64(r+1))
			sum += weights[k]
		}
	}
	mean, variance := make([]float64, len(s.mean)), make([]float64, len(s.mean))
	for k, w := range weights {
		x := s.candidate(noise[k])
		for i := range x {
			mean[i] += w / sum * x[i]
			variance[i] += w / sum * (x[i] - s.mean[i]) * (x[i] - s.mean[i])
		}
	}
	for i, v := range variance {
		s.mean[i], s.deviation[i] = mean[i], math.Sqrt(v/s.divisor+s.extra)
	}
}

// refSepCMAES is N. Hansen, 2016, with a diagonal matrix.
type refSepCMAES struct {
	separate
	sigma                  float64
	variance, paths, pathc []float64
	generation             int
}

func newSepCMAES(std float64) func(settings, []float64, int) reference {
	return func(_ settings, start []float64, _ int) reference {
		n := len(start)
		return &refSepCMAES{
			separate: newSeparate(newStep(optim.SGD, 0, 0, start), std), sigma: std,
			variance: slices.Repeat([]float64{1}, n), paths: make([]float64, n), pathc: make([]float64, n),
		}
	}
}

func (s *refSepCMAES) tensors() map[string][]float64 {
	return map[string][]float64{"mean": s.mean, "deviation": s.deviation, "variance": s.variance, "sigma": {s.sigma}, "path_sigma": s.paths, "path_c": s.pathc}
}

func (s *refSepCMAES) tell(noise [][]float64, fitness []float64) {
	n, lambda := float64(len(s.mean)), float64(len(fitness))
	parents, sum, square := len(fitness)/2, 0.0, 0.0
	weights := make([]float64, len(fitness))
	for k, r := range ranks(fitness) {
		if r < parents {
			weights[k] = math.Log((lambda+1)/2) - math.Log(float64(r+1))
			sum += weights[k]
		}
	}
	for k := range weights {
		weights[k] /= sum
		square += weights[k] * weights[k]
	}
	mass := 1 / square
	// Table 1, with the learning rates of C multiplied by (n + 2)/3.
	cs := (mass + 2) / (n + mass + 5)
	ds := 1 + 2*max(0, math.Sqrt((mass-1)/(n+1))-1) + cs
	cc := (4 + mass/n) / (n + 4 + 2*mass/n)
	c1 := min(1, 2/((n+1.3)*(n+1.3)+mass)*(n+2)/3)
	cmu := min(1-c1, 2*(mass-2+1/mass)/((n+2)*(n+2)+mass)*(n+2)/3)
	length := math.Sqrt(n) * (1 - 1/(4*n) + 1/(21*n*n))

	y, squares, size := make([]float64, len(s.mean)), make([]float64, len(s.mean)), 0.0
	for k, w := range weights {
		for i, z := range noise[k] {
			step := math.Sqrt(s.variance[i]) * z
			y[i] += w * step
			squares[i] += w * step * step
		}
	}
	for i := range y {
		s.mean[i] += s.sigma * y[i]
		s.paths[i] = (1-cs)*s.paths[i] + math.Sqrt(cs*(2-cs)*mass)*y[i]/math.Sqrt(s.variance[i])
		size += s.paths[i] * s.paths[i]
	}
	s.generation++
	size = math.Sqrt(size)
	h := 0.0
	if size/math.Sqrt(1-math.Pow(1-cs, 2*float64(s.generation))) < (1.4+2/(n+1))*length {
		h = 1
	}
	s.sigma *= math.Exp(min(1, cs/ds*(size/length-1)))
	for i, c := range s.variance {
		s.pathc[i] = (1-cc)*s.pathc[i] + h*math.Sqrt(cc*(2-cc)*mass)*y[i]
		s.variance[i] = (1+c1*(1-h)*cc*(2-cc)-c1-cmu)*c + c1*s.pathc[i]*s.pathc[i] + cmu*squares[i]
		s.deviation[i] = s.sigma * math.Sqrt(s.variance[i])
	}
}

// TestRandomSearch: candidates are spread evenly in the bounds, and the best of all is kept.
func TestRandomSearch(t *testing.T) {
	eng := engine.New(open(t))
	const members, dim = 2, 6
	low, high := make([]float32, dim), make([]float32, dim)
	for i := range low {
		low[i], high[i] = float32(-i), float32(i+1)
	}
	for _, space := range []Space{{Members: members, Dim: dim, Low: low, High: high}, {Members: members, Dim: dim}} {
		t.Run(fmt.Sprintf("bounded %v", space.Bounded()), func(t *testing.T) {
			tr := newTrial(t, eng, RandomSearchConfig{Population: 999, NoiseStd: 3}, space, make([]float32, members*dim))
			var best [members]float64
			var fittest [members][]float32
			seen := map[float32]int{}
			for g := range 3 {
				asked, scores := tr.step(ellipsoid)
				for m, population := range asked {
					for k, x := range population {
						seen[x[5]]++
						if f := float64(scores[m][k]); fittest[m] == nil || f > best[m] {
							best[m], fittest[m] = f, x
						}
					}
					for i := range dim {
						var sum, square float64
						for _, x := range population {
							v := float64(x[i])
							if space.Bounded() && (v < float64(low[i]) || v > float64(high[i])) {
								t.Fatalf("generation %d: number %d of a candidate is %g; want it between %g and %g", g, i, v, low[i], high[i])
							}
							sum += v
							square += v * v
						}
						n := float64(len(population))
						mean, deviation := 0.0, 3.0
						if space.Bounded() {
							mean, deviation = 0.5, (2*float64(i)+1)/math.Sqrt(12)
						}
						if got := sum / n; math.Abs(got-mean) > 5*deviation/math.Sqrt(n) {
							t.Errorf("generation %d: number %d has mean %g; want %g", g, i, got, mean)
						}
						if got := math.Sqrt(square/n - sum/n*sum/n); math.Abs(got/deviation-1) > 0.1 {
							t.Errorf("generation %d: number %d has deviation %g; want %g", g, i, got, deviation)
						}
					}
				}
				for m, x := range tr.solution() {
					if !slices.Equal(x, fittest[m]) {
						t.Errorf("generation %d: the solution of member %d is %v; want %v", g, m, x, fittest[m])
					}
				}
			}
			if len(seen) < 5990 {
				t.Errorf("%d different numbers in %d candidates", len(seen), 3*999*members)
			}
		})
	}
}
