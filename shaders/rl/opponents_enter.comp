#version 450

// Copies every member's row to a place in rows [M + M · n, width], which begin with the members' own and go on with a pool of n
// for each: to its own place, or into its pool. Groups: x = ceil(width / local size), y = members.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(constant_id = 1) const bool HAS_PLACES = false; // into the pools; else to the members' own places

layout(std430, set = 0, binding = 0) readonly buffer From { float from[]; };  // [M, width]
layout(std430, set = 0, binding = 1) readonly buffer Places { uint places[]; }; // [M]: the place in the pool; n: none
layout(std430, set = 0, binding = 2) writeonly buffer Rows { float rows[]; }; // [M + M · n, width]

layout(push_constant) uniform Push {
    uint members;
    uint size; // n
    uint width;
};

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y, row = member;
    if (i >= width) return;
    if (HAS_PLACES) {
        uint place = places[member];
        if (place >= size) return;
        row = members + member * size + place;
    }
    rows[row * width + i] = from[member * width + i];
}
