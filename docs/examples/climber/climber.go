package main

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
)

// climber is [climber]: an elitist evolution strategy with the one-fifth success rule (I. Rechenberg, 1973). Candidates are normal around the best one so
// far; the step size grows in generations that find a better one and shrinks in the others.
type climber struct {
	Candidates int     `min:"2" max:"65536" doc:"Candidates of a generation."`
	Step       float64 `above:"0" doc:"Standard deviation of the first generation."`
}

func defaults() climber { return climber{Candidates: 32, Step: 0.5} }

// Name implements ec.Algorithm: the workflow's name, and the section's.
func (climber) Name() string { return "climber" }

// New implements ec.Algorithm. It makes the tensors of M searches: those by s.Tensor are saved and resumed, one row for each search.
func (c climber) New(s *engine.State, clock engine.Clock, _ *engine.Hyper, space ec.Space) (ec.Strategy, error) {
	propose, e1 := engine.CompileKernel(context.Background(), "climber/propose", proposeText)
	adapt, e2 := engine.CompileKernel(context.Background(), "climber/adapt", adaptText)
	if err := errors.Join(e1, e2); err != nil {
		return nil, err
	}
	m := engine.Members(space.Members)
	return &strategy{
		climber: c, propose: propose, adapt: adapt, space: space, clock: clock, stream: s.Stream("noise"),
		best: space.Tensor(s, "best"), step: s.Tensor("step", engine.Float32, m), record: s.Tensor("record", engine.Float32, m),
		rows: s.Scratch("candidates", engine.Float32, m, engine.Axis("candidate", c.Candidates), engine.Axis("parameter", space.Row())),
	}, s.Err()
}

// strategy is the climber's ec.Strategy.
type strategy struct {
	climber
	propose, adapt     *engine.Kernel
	space              ec.Space
	clock              engine.Clock
	stream             uint32
	best, step, record *engine.Tensor // [M, row], [M], [M]
	rows               *engine.Tensor // [M, N, row]: the candidates
}

func (s *strategy) Population() int          { return s.climber.Candidates }
func (s *strategy) Solution() *engine.Tensor { return s.best }

func (s *strategy) Init(ctx context.Context, start []float32) error {
	return errors.Join(s.best.WriteFloat32(ctx, s.space.Pad(start)), s.step.Fill(ctx, float32(s.Step)), s.record.Fill(ctx, -math.MaxFloat32))
}

// Ask records drawing a generation's candidates.
func (s *strategy) Ask(r *engine.Recorder) {
	row, population := s.space.Row(), s.Population()
	s.propose.Record(r, r.Share(s.space.Members, population*row/4), uint32(s.space.Members), 1, engine.Args{
		"Best": s.best, "Step": s.step, "Clock": s.clock.Tensor(), "Candidates": s.rows,
		"seed": r.Engine().Seed(), "stream": s.stream, "population": population, "dim": s.space.Dim, "row": row,
	})
}

func (s *strategy) Candidates(r *engine.Recorder, pick ec.Pick, into *engine.Tensor) {
	s.space.PickRows(r, s.rows, pick, into)
}

// Tell records learning from their fitness.
func (s *strategy) Tell(r *engine.Recorder, scores ec.Scores) {
	s.adapt.Record(r, uint32(s.space.Members), 1, 1, engine.Args{"Fitness": scores.Finite, "Record": s.record, "Step": s.step, "population": s.Population()})
	r.Copy(s.best, scores.Fittest)
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
