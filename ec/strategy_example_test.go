package ec_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// oneFifth is an elitist evolution strategy with the one-fifth success rule (I. Rechenberg, 1973): candidates are
// normal around the best one so far; the step size grows in generations that find a better one and shrinks in the
// others. It is an ec.Algorithm with its own kernels.
type oneFifth struct {
	Candidates     int
	Step           float64 // initial step size
	propose, adapt *engine.Kernel
}

const proposeText = `#version 450
#include "ec/normal.glsl"
layout(local_size_x = 8) in;
layout(std430, set = 0, binding = 0) readonly buffer Best { vec4 best[]; };              // [M, row]
layout(std430, set = 0, binding = 1) readonly buffer Step { float step[]; };             // [M]
layout(std430, set = 0, binding = 2) readonly buffer Clock { uint clock[]; };            // [0]: the generation
layout(std430, set = 0, binding = 3) writeonly buffer Candidates { vec4 candidates[]; }; // [M, N, row]
layout(push_constant) uniform Push { uint seed; uint stream; uint population; uint dim; uint row; };
void main() { // Groups: x, any number, share a member's candidates; y = members.
    uint member = gl_WorkGroupID.y, fours = row / 4u;
    for (uint i = gl_GlobalInvocationID.x; i < population * fours; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint block = i % fours;
        vec4 z = normals(philox(uvec2(seed, stream), uvec4(member, i / fours, clock[0], block)));
        z = mix(vec4(0.0), z, lessThan(4u * block + uvec4(0u, 1u, 2u, 3u), uvec4(dim))); // rows end with zeros
        candidates[member * population * fours + i] = best[member * fours + block] + step[member] * z;
    }
}`

const adaptText = `#version 450
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; }; // [M, N]
layout(std430, set = 0, binding = 1) buffer Record { float record[]; };            // [M]: the best fitness so far
layout(std430, set = 0, binding = 2) buffer Step { float step[]; };                // [M]
layout(push_constant) uniform Push { uint population; };
void main() { // Groups: x = members.
    uint member = gl_WorkGroupID.x;
    float best = fitness[member * population];
    for (uint c = 1u; c < population; c++) best = max(best, fitness[member * population + c]);
    step[member] *= best > record[member] ? 1.5 : pow(1.5, -0.25);
    record[member] = max(record[member], best);
}`

// newOneFifth compiles the kernels.
func newOneFifth(ctx context.Context, candidates int, step float64) (a oneFifth, err error) {
	a = oneFifth{Candidates: candidates, Step: step}
	if a.propose, err = engine.CompileKernel(ctx, "one-fifth/propose", proposeText); err != nil {
		return a, err
	}
	a.adapt, err = engine.CompileKernel(ctx, "one-fifth/adapt", adaptText)
	return a, err
}

func (a oneFifth) Name() string { return "one-fifth" }

func (a oneFifth) New(s *engine.State, clock engine.Clock, _ *engine.Hyper, space ec.Space) (ec.Strategy, error) {
	m := engine.Members(space.Members)
	return &oneFifthStrategy{
		oneFifth: a, space: space, clock: clock, stream: s.Stream("noise"),
		best: space.Tensor(s, "best"), step: s.Tensor("step", engine.Float32, m), record: s.Tensor("record", engine.Float32, m),
		rows: s.Scratch("candidates", engine.Float32, m, engine.Axis("candidate", a.Candidates), engine.Axis("parameter", space.Row())),
	}, s.Err()
}

// oneFifthStrategy is an ec.Strategy.
type oneFifthStrategy struct {
	oneFifth
	space              ec.Space
	clock              engine.Clock
	stream             uint32
	best, step, record *engine.Tensor
	rows               *engine.Tensor // [M, N, row]: the candidates
}

func (s *oneFifthStrategy) Population() int          { return s.oneFifth.Candidates }
func (s *oneFifthStrategy) Solution() *engine.Tensor { return s.best }

func (s *oneFifthStrategy) Init(ctx context.Context, start []float32) error {
	return errors.Join(s.best.WriteFloat32(ctx, s.space.Pad(start)), s.step.Fill(ctx, float32(s.Step)), s.record.Fill(ctx, -math.MaxFloat32))
}

func (s *oneFifthStrategy) Ask(r *engine.Recorder) {
	row, population := s.space.Row(), s.Population()
	s.propose.Record(r, r.Share(s.space.Members, population*row/4), uint32(s.space.Members), 1, engine.Args{
		"Best": s.best, "Step": s.step, "Clock": s.clock.Tensor(), "Candidates": s.rows,
		"seed": r.Engine().Seed(), "stream": s.stream, "population": population, "dim": s.space.Dim, "row": row,
	})
}

func (s *oneFifthStrategy) Candidates(r *engine.Recorder, pick ec.Pick, into *engine.Tensor) {
	s.space.PickRows(r, s.rows, pick, into)
}

func (s *oneFifthStrategy) Tell(r *engine.Recorder, scores ec.Scores) {
	s.adapt.Record(r, uint32(s.space.Members), 1, 1, engine.Args{"Fitness": scores.Finite, "Record": s.record, "Step": s.step, "population": s.Population()})
	r.Copy(s.best, scores.Fittest)
}

// A user-defined strategy, with its own shaders, searches on the device and by ask and tell like the package's.
func ExampleStrategy() {
	ctx := context.Background()
	dev, err := vk.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	eng := engine.New(dev, engine.Seed(1))
	algorithm, err := newOneFifth(ctx, 16, 0.5)
	if err != nil {
		log.Fatal(err)
	}

	search, err := ec.NewSearch(ctx, eng, algorithm, problem.Sphere(6), 3)
	if err != nil {
		log.Fatal(err)
	}
	defer search.Close()
	if err := engine.Learn(ctx, search, engine.Iterations(500)); err != nil {
		log.Fatal(err)
	}
	found, _, err := search.ReadBest(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for member, fitness := range found {
		fmt.Println(member, "sphere below 1e-8:", -fitness < 1e-8)
	}

	asked, err := ec.NewAskTell(eng, algorithm, ec.Space{Members: 1, Dim: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer asked.Close()
	if err := asked.Begin(ctx, [][]float32{{3, -2}}); err != nil {
		log.Fatal(err)
	}
	for range 300 {
		candidates, err := asked.Ask(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fitness := make([]float32, len(candidates[0]))
		for i, x := range candidates[0] {
			fitness[i] = -(x[0]*x[0] + x[1]*x[1])
		}
		if err := asked.Tell(ctx, ec.Results{Fitness: [][]float32{fitness}}); err != nil {
			log.Fatal(err)
		}
	}
	best, _, err := asked.Best(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("asked and told, below 1e-8:", -best[0] < 1e-8)
	// Output:
	// 0 sphere below 1e-8: true
	// 1 sphere below 1e-8: true
	// 2 sphere below 1e-8: true
	// asked and told, below 1e-8: true
}
