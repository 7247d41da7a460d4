#version 450

#extension GL_EXT_control_flow_attributes : require // for the text

// A function given as GLSL, see problem.GLSL: the text replaces the last include, with its own definitions. Groups: x
// = enough for one candidate per invocation: Mesa's software driver limits the sum of an invocation's loops, see shaders.MaxIterations.

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "ec/problem/several.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

#define DIM 1u
#define OBJECTIVES 1u

uint evaluated;

// Coordinate i of the candidate, below DIM.
float x(uint i) { return number(evaluated, i); }

#include "ec/problem/given.glsl"

void main() {
    evaluated = gl_GlobalInvocationID.x;
    if (evaluated >= members * window) return;
    float f[OBJECTIVES];
    for (uint k = 0u; k < OBJECTIVES; k++) f[k] = 0.0;
    evaluate(f);
    for (uint k = 0u; k < OBJECTIVES; k++) write_objective(evaluated, k, -f[k]);
}
