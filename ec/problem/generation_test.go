package problem

import (
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// generation evaluates candidates that a test provides, generation by generation.
type generation struct {
	t          testing.TB
	problem    *policy
	eng        *engine.Engine
	state      *engine.State
	clock      engine.Clock
	e          *rollouts
	candidates *engine.Tensor // [M · N, row]
	window     *engine.Tensor // [M · window, row]
	fitness    *engine.Tensor // [M, N]
	length     *engine.Tensor // [M]
	described  *engine.Tensor // [M, N, B]; nil: no descriptors
	members    int
	population int
	row        int
	program    *engine.Program
}

func lookup(t testing.TB, name string) *envs.Environment {
	t.Helper()
	env, err := envs.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// newGeneration makes a generation of zeros as candidates. Tensors that are not saved begin poisoned.
func newGeneration(t testing.TB, eng *engine.Engine, p ec.Problem, members, population int) *generation {
	t.Helper()
	ctx := t.Context()
	g := &generation{t: t, problem: p.(*policy), eng: eng, state: eng.NewState(), members: members, population: population}
	t.Cleanup(func() { g.must(g.state.Close()) })
	g.clock = engine.NewClock(g.state)
	evaluation, err := p.New(ctx, g.state.Sub("problem"), g.clock, members, population)
	g.must(err)
	g.e = evaluation.(*rollouts)
	g.row = p.Space(members).Row()
	parameters := engine.Axis("parameter", g.row)
	g.candidates = g.state.Tensor("all", engine.Float32, engine.Members(members*population), parameters)
	g.window = g.state.Scratch("window", engine.Float32, engine.Members(members*g.e.Window()), parameters)
	g.fitness = g.state.Scratch("fitness", engine.Float32, engine.Members(members), engine.Axis("candidate", population))
	if n := len(g.problem.described.observations); n > 0 {
		g.described = g.state.Scratch("descriptors", engine.Float32, engine.Members(members), engine.Axis("candidate", population),
			engine.Axis("descriptor", n))
		g.e.Describe(g.described)
	}
	metrics := engine.NewMetrics(g.state, members, 4)
	rows := g.e.Rows(metrics)
	g.length = g.e.length
	g.must(g.state.Zero(ctx))
	g.must(g.state.Poison(ctx))
	g.must(g.e.Init(ctx))
	g.program, err = eng.Record("generation", func(r *engine.Recorder) {
		for first := 0; first < population; first += g.e.Window() {
			from := min(first, population-g.e.Window())
			for m := range members {
				for c := range g.e.Window() {
					r.Copy(g.window.Index(m*g.e.Window()+c), g.candidates.Index(m*population+from+c))
				}
			}
			g.e.Record(r, g.window, from, g.fitness)
		}
		g.e.Finish(r)
		rows(r)
		_, steps := g.e.Steps()
		g.clock.Tick(r, 1, steps)
	})
	g.must(err)
	t.Cleanup(g.program.Free)
	return g
}

func (g *generation) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *generation) run() {
	g.t.Helper()
	g.must(g.program.Run(g.t.Context()))
}

// set sets the parameters of every candidate.
func (g *generation) set(of func(member, candidate int) []float32) {
	g.t.Helper()
	all := make([]float32, g.candidates.Len())
	for i := range g.members * g.population {
		copy(all[i*g.row:(i+1)*g.row], of(i/g.population, i%g.population))
	}
	g.must(g.candidates.WriteFloat32(g.t.Context(), all))
}

func (g *generation) floats(x *engine.Tensor) []float32 {
	g.t.Helper()
	v, err := x.ReadFloat32(g.t.Context())
	g.must(err)
	return v
}

func (g *generation) words(x *engine.Tensor) []uint32 {
	g.t.Helper()
	v, err := x.ReadUint32(g.t.Context())
	g.must(err)
	return v
}
