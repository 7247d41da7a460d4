#version 450

// Copied members go on in their sources' episodes, against the same opponents: the source's own row becomes the copy's, a row of the source's pool
// the same row of the copy's. Other members' own rows, those of a common pool and players without parameters stay; a copy that thereby faces itself learns
// in all its seats. Safe in place if every source is its own source. Groups: x = ceil(members × seats of a member / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "envs/rows.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; }; // [M]
layout(std430, set = 0, binding = 1) buffer Rows { uint rows[]; };              // [M, E, A]

layout(push_constant) uniform Push {
    uint members;
    uint seats; // of a member: E * A
    uint first; // see matches.comp
    uint apart;
};

void main() {
    uint at = gl_GlobalInvocationID.x, member = at / seats;
    if (member >= members || source[member] == member) return;
    uint from = source[member], row = rows[from * seats + at % seats];
    if (row == from) {
        row = member;
    } else if (apart > 0u && row >= first && row < ROW_SCRIPT) {
        row = row - from * apart + member * apart;
    }
    rows[at] = row;
}
