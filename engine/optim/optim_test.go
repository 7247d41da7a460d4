package optim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
)

// model is one member's optimizer in float64, from the papers' algorithms.
type model struct {
	Config
	rate          float64
	params        []float64
	first, second []float64
	updates       float64
}

func (m *model) update(gradient []float64) (norm float64) {
	return m.updateWith(gradient, norm2(gradient))
}

// norm2 returns the Euclidean norm of gradients taken as one vector.
func norm2(gradients ...[]float64) (norm float64) {
	for _, gradient := range gradients {
		for _, g := range gradient {
			norm += g * g
		}
	}
	return math.Sqrt(norm)
}

// updateWith makes an update by a gradient, clipped as if its norm were the given one.
func (m *model) updateWith(gradient []float64, norm float64) float64 {
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return -1
	}
	if m.Rule == ClipUp {
		m.clipUp(gradient, norm)
		return norm
	}
	scale := 1.0
	if m.MaxNorm > 0 && norm > m.MaxNorm {
		scale = m.MaxNorm / norm
	}
	m.updates++
	rate := m.rate
	for i, g := range gradient {
		g *= scale
		w := m.params[i]
		if m.Rule != AdamW {
			g += m.WeightDecay * w
		}
		switch m.Rule {
		case SGD:
			m.first[i] = m.Beta1*m.first[i] + g
			w -= rate * m.first[i]
		case RMSProp:
			m.second[i] = m.Beta2*m.second[i] + (1-m.Beta2)*g*g
			w -= rate * g / (math.Sqrt(m.second[i]) + m.Epsilon)
		default:
			m.first[i] = m.Beta1*m.first[i] + (1-m.Beta1)*g
			m.second[i] = m.Beta2*m.second[i] + (1-m.Beta2)*g*g
			t := math.Floor((m.updates-1)/float64(max(m.CorrectionInterval, 1))) + 1
			step := m.first[i] / (1 - math.Pow(m.Beta1, t)) / (math.Sqrt(m.second[i]/(1-math.Pow(m.Beta2, t))) + m.Epsilon)
			if m.Rule == AdamW {
				step += m.WeightDecay * w
			}
			w -= rate * step
		}
		m.params[i] = w
	}
	return norm
}

// clipUp is algorithm 2 of N. E. Toklu et al., 2020, which minimises here.
func (m *model) clipUp(gradient []float64, norm float64) {
	m.updates++
	rate, speed := m.rate, 0.0
	for i, g := range gradient {
		if m.first[i] *= m.Beta1; norm > 0 {
			m.first[i] += rate * g / norm
		}
		speed += m.first[i] * m.first[i]
	}
	speed = math.Sqrt(speed)
	for i := range gradient {
		if speed > m.MaxNorm {
			m.first[i] *= m.MaxNorm / speed
		}
		m.params[i] -= m.first[i] + rate*m.WeightDecay*m.params[i]
	}
}

// TestOptimizers compares every rule with its model. Members have different learning rates, and one of them sometimes
// gets a gradient that is not finite.
func TestOptimizers(t *testing.T) {
	dev := vktest.Device(t)
	eng := engine.New(dev)
	clip := Default(Adam)
	clip.MaxNorm, clip.Epsilon = 3, 1e-5
	decay := Default(SGD)
	decay.WeightDecay = 0.1
	heavy := Default(AdamW)
	heavy.WeightDecay = 0.3
	held := Default(Adam)
	held.CorrectionInterval = 3
	slow := Default(ClipUp)
	slow.MaxNorm, slow.WeightDecay = 0.003, 0.2
	for _, c := range []struct {
		cfg         Config
		row, splits int
	}{
		{Default(SGD), 12, 1}, {decay, 4, 3}, {Default(RMSProp), 1028, 2}, {Default(Adam), 4, 1}, {held, 8, 2},
		{clip, 12, 2}, {clip, 516, 5}, {heavy, 36, 1}, {heavy, 4100, 3},
		{Default(ClipUp), 4, 1}, {slow, 516, 3}, {slow, 1028, 1},
		{slow, 262148, 1},          // its norm is taken in parts, as the next one's
		{Default(Adam), 262148, 8}, // more elements than the smallest workgroup of a software driver could loop over
	} {
		t.Run(fmt.Sprintf("%v/row %d/splits %d", c.cfg.Rule, c.row, c.splits), func(t *testing.T) {
			run(t, eng, c.cfg, c.row, c.splits)
		})
	}
}

func run(t *testing.T, eng *engine.Engine, cfg Config, row, splits int) {
	const members, broken = 3, 1
	s := eng.NewState()
	defer s.Close()
	p := engine.Members(members)
	rate := s.Tensor("rate", engine.Float32, p)
	o := New(s, cfg, rate, row)
	gradient := s.Scratch("gradient", engine.Float32, engine.Axis("split", splits), p, engine.Axis("parameter", row))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Zero(t.Context()))
	if o.sums != nil {
		must(o.sums.Fill(t.Context(), float32(math.NaN())))
	}
	program, err := eng.Record("update", func(r *engine.Recorder) { o.Step(r, gradient) })
	must(err)
	defer program.Free()

	dice := rand.New(rand.NewPCG(uint64(row), uint64(splits)))
	models := make([]*model, members)
	var rates, params []float32
	for m := range models {
		models[m] = &model{Config: cfg, rate: float64(float32(0.001 * math.Pow(10, float64(m)/2))), first: make([]float64, row), second: make([]float64, row)}
		rates = append(rates, float32(models[m].rate))
		for range row {
			w := float32(dice.NormFloat64())
			params, models[m].params = append(params, w), append(models[m].params, float64(w))
		}
	}
	must(rate.WriteFloat32(t.Context(), rates))
	must(o.Params().WriteFloat32(t.Context(), params))

	refused := uint32(0)
	var norms [members]float64
	for step := range 7 {
		parts := make([]float32, gradient.Len())
		sums := make([][]float64, members)
		for i := range parts {
			m := i / row % members
			parts[i] = float32(dice.NormFloat64() * math.Pow(10, float64(m-1)) / math.Sqrt(float64(row)))
			if m == broken && step%3 == 1 && i%row == row-1 && i/row < members {
				parts[i] = []float32{float32(math.NaN()), float32(math.Inf(1))}[step/3%2]
			}
			if sums[m] == nil {
				sums[m] = make([]float64, row)
			}
			sums[m][i%row] += float64(parts[i])
		}
		must(gradient.WriteFloat32(t.Context(), parts))
		must(program.Run(t.Context()))
		for m, g := range sums {
			if norms[m] = models[m].update(g); norms[m] < 0 {
				refused++
			}
		}
	}

	got := func(tensor *engine.Tensor) []float32 {
		values, err := tensor.ReadFloat32(t.Context())
		must(err)
		return values
	}
	worst := 0.0
	compare := func(what string, m int, got []float32, want []float64) {
		t.Helper()
		size, d := 1e-30, 0.0
		for i, w := range want {
			size, d = max(size, math.Abs(w)), max(d, math.Abs(float64(got[i])-w))
		}
		worst = max(worst, d/size)
		if !(d <= 2e-6*size) {
			t.Errorf("%s of member %d deviate by %g of the largest element", what, m, d/size)
		}
	}
	for m, want := range models {
		compare("parameters", m, got(o.params)[m*row:], want.params)
		compare("first moments", m, got(o.first)[m*row:], want.first)
		compare("second moments", m, got(o.second)[m*row:], want.second)
		compare("norms", m, got(o.Norm())[m:], norms[m:m+1])
	}
	t.Logf("largest deviation %.1e", worst)
	counts, err := o.Updates().ReadUint32(t.Context())
	must(err)
	refusals, err := o.Refused().ReadUint32(t.Context())
	must(err)
	for m, want := range models {
		none := uint32(0)
		if m == broken {
			none = refused
		}
		if counts[m] != uint32(want.updates) || refusals[m] != none {
			t.Errorf("member %d made %d updates and refused %d; want %g and %d", m, counts[m], refusals[m], want.updates, none)
		}
	}
	if refused == 0 {
		t.Error("no gradient was refused")
	}
}

func TestRule(t *testing.T) {
	for rule := SGD; rule <= ClipUp; rule++ {
		text, err := rule.MarshalText()
		var back Rule
		if err != nil || back.UnmarshalText(text) != nil || back != rule || Default(rule).Rule != rule {
			t.Errorf("rule %d is marshalled as %q and unmarshalled as %d", rule, text, back)
		}
	}
	var rule Rule
	if rule.UnmarshalText([]byte("adamax")) == nil {
		t.Error("rule adamax: no error")
	}
	if _, err := Rule(9).MarshalText(); err == nil {
		t.Error("rule 9: no error")
	}
}
