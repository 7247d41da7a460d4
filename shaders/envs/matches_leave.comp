#version 450

// Games of players that are about to be others count for neither side: of the row of the common pool that a member faces, and of its own row. Groups: x =
// ceil(worlds / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Gone { uint gone[]; }; // [K]: 1 for those of the pool
layout(std430, set = 0, binding = 1) buffer Facing { uint facing[]; };    // [M, E], see matches.comp

layout(push_constant) uniform Push {
    uint members;
    uint environments;
    uint first; // row of the pool's first
    uint count; // rows of the pool
};

void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at >= members * environments || facing[at] == 0u) return;
    uint own = at / environments - first; // in the pool; wraps where it is not in it
    if (gone[(facing[at] - 1u) / 2u] != 0u || own < count && gone[own] != 0u) facing[at] = 0u;
}
