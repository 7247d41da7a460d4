#version 450

// A function given as GLSL, see problem.GLSL: the text replaces the last include, with its own definitions. Groups: x
// = any number, which share the candidates.

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
    for (uint c = gl_GlobalInvocationID.x; c < members * window; c += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        evaluated = c;
        float f[OBJECTIVES];
        for (uint k = 0u; k < OBJECTIVES; k++) f[k] = 0.0;
        evaluate(f);
        for (uint k = 0u; k < OBJECTIVES; k++) write_objective(c, k, -f[k]);
    }
}
