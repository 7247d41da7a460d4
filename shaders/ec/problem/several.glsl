// Functions of several objectives. The includer has engine/load.glsl.

layout(std430, set = 0, binding = 0) readonly buffer Candidates { vec4 candidates[]; };    // [M * window, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer candidates_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Objectives { float objectives[]; };  // [M, N, K]: maximised

layout(push_constant) uniform Push {
    uint members;
    uint window;     // candidates per member in this window
    uint dim;
    uint row;
    uint population;
    uint first;      // the window's first candidate
    uint objective;  // objectives, K
};

float number(uint candidate, uint i) { return LOAD1(candidates, candidates_texels, candidate * row + i); }

void write_objective(uint candidate, uint k, float minimised) {
    uint p = candidate / window * population + first + candidate % window;
    objectives[p * objective + k] = -minimised;
}
