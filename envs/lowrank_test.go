package envs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// rankCase is a window of networks of low rank in an environment with a float64 model.
type rankCase struct {
	model      dynamics
	hidden     []int
	activation nn.Activation
	rank       int
	mirrored   bool
	diagonal   bool // deviations of each parameter
	common     bool
	normalize  bool
	each       int // episodes of a candidate
	count      int // candidates at once
	first      int
	limit      int
}

// TestRankRolloutsGPU compares rollouts of networks of low rank, in the forms of software drivers and of GPUs, with float64 models of networks and
// environments.
func TestRankRolloutsGPU(t *testing.T) {
	dev := open(t)
	for i, c := range []rankCase{
		{modelPendulum(), []int{100, 130, 9}, nn.Tanh, 2, true, true, false, true, 3, 5, 3, 12},
		{modelPendulum(), nil, nn.Tanh, 1, false, false, true, false, 1, 9, 0, 7},
		{modelCartPole(), []int{13}, nn.ReLU, 4, true, false, false, false, 2, 7, 2, 40},
		{modelPendulum(), []int{16, 32}, nn.Swish, 5, false, true, true, true, 2, 11, 4, 9},
	} {
		for _, panels := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d/%s/%v/panels %t", i, c.model.name, c.hidden, panels), func(t *testing.T) {
				c.check(t, dev, panels)
			})
		}
	}
}

const rankMembers, rankSeed = 2, 5

func (c rankCase) check(t *testing.T, dev *vk.Device, panels bool) {
	defer func(old bool) { rankPanels = old }(rankPanels)
	rankPanels = panels
	env := lookup(t, c.model.name)
	eng := engine.New(dev, engine.Seed(rankSeed))
	s := eng.NewState()
	defer func() { _ = s.Close() }()
	net := nn.MLP{In: env.ObsSize(), Hidden: c.hidden, Activation: c.activation}
	head := env.Action.Head()
	if head.Kind != nn.Categorical {
		head.Kind, head.Squash = nn.Deterministic, true
	}
	net.Out = head.Outputs()
	var parameters []nn.Parameter
	for _, l := range net.Layers() {
		parameters = append(parameters, l.Parameters()...)
	}
	layout, err := nn.NewLowRank(parameters, c.rank)
	if err != nil {
		t.Fatal(err)
	}
	m, row := engine.Members(rankMembers), nn.Align(net.Size())
	clock := engine.NewClock(s)
	mean := s.Tensor("mean", engine.Float32, m, engine.Axis("parameter", row))
	deviation := s.Tensor("deviation", engine.Float32, m)
	if c.diagonal {
		deviation = s.Tensor("deviations", engine.Float32, m, engine.Axis("parameter", row))
	}
	p := nn.NewPerturbation(s, layout, rankMembers, c.count, deviation, c.mirrored)
	p.First = c.first
	policy := &Policy{Network: net, Head: head, ObsLimit: 0.9, Placement: PlacementStream, Weights: nn.Weights{Params: mean, Perturbation: p}}
	normalizer := s.Tensor("normalizer", engine.Float32, m, engine.Axis("moment", 2), engine.Axis("feature", net.In))
	if c.normalize {
		policy.Normalizer = normalizer
	}
	ro, err := NewRollout(t.Context(), s.Sub("rollout"), env, RolloutConfig{
		Members: rankMembers * c.count, Environments: c.each, Horizon: c.limit + 2, Options: Options{TimeLimit: c.limit, AutoReset: Disabled},
		Mode: true, Begin: true, Window: &Window{Population: c.first + c.count, Count: c.count, Common: c.common}, Seen: true, Policy: policy,
	})
	if err == nil {
		err = s.Zero(t.Context())
	}
	if err == nil {
		err = s.Poison(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if place, err := ro.Placement(policy, dev.Info()); place != PlacementStream || err != nil {
		t.Fatalf("placement %v, %v; want %v", place, err, PlacementStream)
	}
	dice := rand.New(rand.NewPCG(3, uint64(c.rank)))
	values := map[*engine.Tensor][]float32{}
	for _, of := range []struct {
		tensor          *engine.Tensor
		middle, breadth float64
	}{{mean, 0, 0.3}, {deviation, 0.3, 0.1}, {p.Factors, 0, 1}, {p.Vectors, 0, 0.3}, {normalizer, 0.8, 0.2}} {
		v := make([]float32, of.tensor.Len())
		for i := range v {
			v[i] = float32(of.middle + of.breadth*dice.NormFloat64())
		}
		if err := of.tensor.WriteFloat32(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		values[of.tensor] = v
	}
	program, err := eng.Record(t.Name(), func(r *engine.Recorder) { ro.RecordWindow(r, clock, policy, c.first) })
	if err != nil {
		t.Fatal(err)
	}
	defer program.Free()
	if err := program.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got [2][]float32
	for i, of := range []*engine.Tensor{ro.Finished(), ro.Seen()} {
		if got[i], err = of.ReadFloat32(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all := rankMembers * c.count * c.each
	for at := range all {
		search, candidate, environment := at/(c.count*c.each), at/c.each%c.count, at%c.each
		drawer := search
		if !c.common {
			drawer = search*(c.first+c.count) + c.first + candidate
		}
		e := episode{dynamics: c.model, options: ro.options}
		e.state = e.reset(engine.NewRng(rankSeed, ro.stream, uint32(drawer), uint32(environment), 0))
		network := rankNetwork{c, net, layout, values[mean][search*row : (search+1)*row], values[deviation], values[p.Factors], values[p.Vectors],
			search, candidate, p.Draws(), p.Vectors.Size("float"), row}
		norm := values[normalizer][search*2*net.In : (search+1)*2*net.In]
		seen := make([]float64, 1+2*net.In)
		for !e.word.Done().Over() {
			x := slices.Clone(e.observe(e.state))
			seen[0]++
			for k := range x {
				d := x[k]
				if c.normalize {
					d -= float64(norm[k])
					x[k] = min(max(d*float64(norm[net.In+k]), -0.9), 0.9)
				}
				seen[1+k] += d
				seen[1+net.In+k] += d * d
			}
			y := network.outputs(x)
			action := 0.0
			if head.Kind == nn.Categorical {
				for o := range y {
					if y[o] > y[int(action)] {
						action = float64(o)
					}
				}
			} else {
				scales := env.Action.scales()
				action = float64(scales[0]) + float64(scales[1])*math.Tanh(y[0])
			}
			e.advance(action)
		}
		for i, want := range []float64{1, e.ret, float64(e.word.Steps()), 0} {
			if v := got[0][i*all+at]; !(math.Abs(float64(v)-want) <= 1e-4*max(1, math.Abs(want))) {
				t.Errorf("row %d: finished %d: %g; want %g", at, i, v, want)
			}
		}
		for i, want := range seen {
			if v := got[1][i*all+at]; !(math.Abs(float64(v)-want) <= 3e-4*max(1, math.Abs(want))) {
				t.Errorf("row %d: seen %d: %g; want %g", at, i, v, want)
			}
		}
	}
}

// rankNetwork is a candidate's network in float64.
type rankNetwork struct {
	rankCase
	net                                   nn.MLP
	layout                                *nn.LowRank
	mean, deviation, factors, vectors     []float32
	search, candidate, draws, floats, row int
}

func (n rankNetwork) outputs(x []float64) []float64 {
	index := n.first + n.candidate
	draw, sign := n.candidate, 1.0
	if n.mirrored {
		draw, sign = index/2-n.first/2, 1-2*float64(index%2)
	}
	factors := n.factors[(n.search*n.draws+draw)*n.rank*n.layout.Component:]
	vectors := n.vectors[(n.search*n.count+n.candidate)*n.floats:]
	layers := n.net.Layers()
	for i, l := range layers {
		m := n.layout.Matrices[i]
		bias, _ := n.layout.Vector(l.Bias)
		sigma := float64(n.deviation[n.search%len(n.deviation)])
		if n.diagonal {
			sigma = float64(n.deviation[n.search*n.row+m.At])
		}
		y := make([]float64, l.Out)
		for o := range y {
			y[o] = float64(vectors[bias+o])
			for k := range x {
				w := float64(n.mean[l.Weight+k*l.Out+o])
				for q := range n.rank {
					component := factors[q*n.layout.Component:]
					w += sign * sigma * n.layout.Scale() * float64(component[m.A+k]) * float64(component[m.B+o])
				}
				y[o] += x[k] * w
			}
			if z := y[o]; i+1 < len(layers) {
				switch n.activation {
				case nn.Tanh:
					y[o] = math.Tanh(z)
				case nn.ReLU:
					y[o] = max(z, 0)
				case nn.Swish:
					y[o] = z / (1 + math.Exp(-z))
				}
			}
		}
		x = y
	}
	return x
}
