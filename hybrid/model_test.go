package hybrid

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
)

// A model of an exchange that shares nothing with the kernels but the random numbers, which engine's tests hold to published ones.

// contents are all saved tensors as words, by name.
type contents map[string][]uint32

func snapshot(t testing.TB, s *engine.State) contents {
	t.Helper()
	all := contents{}
	for _, tensor := range s.Tensors() {
		data, err := tensor.ReadBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		words := make([]uint32, tensor.Len())
		for i := range words {
			words[i] = binary.LittleEndian.Uint32(data[4*i:])
		}
		all[tensor.Name()] = words
	}
	return all
}

func (c contents) clone() contents {
	out := contents{}
	for name, words := range c {
		out[name] = slices.Clone(words)
	}
	return out
}

func (c contents) float(name string, i int) float64 { return float64(math.Float32frombits(c[name][i])) }

func (c contents) setFloat(name string, i int, v float64) {
	c[name][i] = math.Float32bits(float32(v))
}

// copyMember makes member p a copy of member from in a tensor [outer, M, inner].
func (c contents) copyMember(tensor *engine.Tensor, p, from int) {
	outer, members, inner, ok := tensor.Split(engine.MemberAxis)
	if !ok {
		return
	}
	words := c[tensor.Name()]
	for o := range outer {
		copy(words[(o*members+p)*inner:][:inner], words[(o*members+from)*inner:][:inner])
	}
}

// byFitness lists the members by fitness, the best first: ties in their order, NaN last.
func byFitness(c contents, members int) []int {
	order := make([]int, members)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := c.float("pbt/fitness", a), c.float("pbt/fitness", b)
		switch {
		case math.IsNaN(x) && math.IsNaN(y):
			return 0
		case math.IsNaN(y) || x > y:
			return -1
		case math.IsNaN(x) || x < y:
			return 1
		}
		return 0
	})
	return order
}

type model struct {
	seed  uint32
	cfg   PBTConfig
	names []string
	state *engine.State
}

func (m model) rng(purpose, name string, member int, c contents) *engine.Rng {
	return engine.NewRng(m.seed, engine.Stream("pbt/"+purpose+"/"+name), uint32(member), 0, c["clock"][0])
}

// toCoordinate and toValue are the prior's coordinate and back.
func toCoordinate(p Prior, value float64) float64 {
	switch p.Prior {
	case LogUniform:
		return math.Log(value)
	case Horizon:
		return -math.Log(1 - value)
	}
	return value
}

func toValue(p Prior, coordinate float64) float64 {
	switch p.Prior {
	case LogUniform:
		return math.Exp(coordinate)
	case Horizon:
		return 1 - math.Exp(-coordinate)
	}
	return coordinate
}

func ends(p Prior) (low, high float64) {
	if p.Prior == LogUniform {
		return math.Log(p.Low), math.Log(p.High)
	}
	return p.Low, p.High
}

// truncation is PBT's exchange with given numbers of members copied from and replaced.
func (m model) truncation(before contents, members, top, bottom int) contents {
	order, parents := byFitness(before, members), selves(members)
	for _, p := range order[members-bottom:] {
		parents[p] = order[int(m.rng("select", "", p, before).Uniform()*float32(top))]
	}
	return m.perturbed(before, parents)
}

// duels is PBT's exchange by meetings of two; beats says whether the first of them has a greater fitness, and great enough.
func (m model) duels(before contents, members int, beats func(q, p int) bool) contents {
	parents := selves(members)
	for p := range members {
		for from := p; ; {
			q := int(m.rng("select", "", from, before).Uniform() * float32(members-1))
			if q >= from {
				q++
			}
			if !beats(q, from) {
				parents[p] = from
				break
			}
			from = q
		}
	}
	return m.perturbed(before, parents)
}

func selves(members int) []int {
	out := make([]int, members)
	for i := range out {
		out[i] = i
	}
	return out
}

// perturbed makes members copies of their parents, and perturbs their hyperparameters.
func (m model) perturbed(before contents, parents []int) contents {
	after := before.clone()
	for p, from := range parents {
		after["pbt/parent"][p] = uint32(from)
		if p == from {
			continue
		}
		for _, tensor := range m.state.Tensors() {
			if name := tensor.Name(); name != "pbt/fitness" && name != "pbt/parent" {
				after.copyMember(tensor, p, from)
			}
		}
		for _, name := range m.names {
			prior, rng := m.cfg.Search[name], m.rng("perturb", name, p, before)
			low, high := ends(prior)
			fresh := float64(rng.Uniform()) < m.cfg.Resample
			factor := 1 + m.cfg.Perturb
			if rng.Uniform() < 0.5 {
				factor = 1 - m.cfg.Perturb
			}
			x := toCoordinate(prior, before.float("hyper/"+name, from))
			switch {
			case fresh:
				x = low + (high-low)*float64(rng.Uniform())
			case prior.Prior == LogUniform:
				x += math.Log(factor)
			default:
				x *= factor
			}
			after.setFloat("hyper/"+name, p, toValue(prior, min(max(x, low), high)))
		}
	}
	return after
}

// swarm is PBT-CSO's exchange.
func (m model) swarm(before contents, members int) contents {
	after := before.clone()
	order := byFitness(before, members)
	key := engine.Philox([2]uint32{m.seed, engine.Stream("pbt/pair/")}, [4]uint32{0, 0, before["clock"][0], 0})
	seats := make([]int, members)
	for i := range seats {
		seats[i] = int(engine.Permute(uint32(i), uint32(members), key))
		after["pbt/parent"][i] = uint32(i)
	}
	for i := 0; i+1 < members; i += 2 {
		teacher, student := seats[i], seats[i+1]
		if slices.Index(order, student) < slices.Index(order, teacher) {
			teacher, student = student, teacher
		}
		after["pbt/parent"][student] = uint32(teacher)
		for _, tensor := range m.state.Tensors() {
			name := tensor.Name()
			own := name == "pbt/fitness" || name == "pbt/parent"
			for _, searched := range m.names {
				own = own || name == "hyper/"+searched || name == "pbt/velocity/"+searched
			}
			if !own {
				after.copyMember(tensor, student, teacher)
			}
		}
		for _, name := range m.names {
			prior, rng := m.cfg.Search[name], m.rng("swarm", name, student, before)
			low, high := ends(prior)
			x, goal := toCoordinate(prior, before.float("hyper/"+name, student)), toCoordinate(prior, before.float("hyper/"+name, teacher))
			v := float64(rng.Uniform()) * before.float("pbt/velocity/"+name, student)
			v += float64(rng.Uniform()) * (goal - x)
			after.setFloat("pbt/velocity/"+name, student, v)
			after.setFloat("hyper/"+name, student, toValue(prior, min(max(x+v, low), high)))
		}
	}
	return after
}
