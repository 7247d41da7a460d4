#version 450

// Games against a row of the pool that is about to be another player count for neither. Groups: x = ceil(worlds / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Places { uint places[]; }; // [M]: the row of the member's pool; none if it has no such row
layout(std430, set = 0, binding = 1) buffer Facing { uint facing[]; };        // [M, E], see matches.comp

layout(push_constant) uniform Push {
    uint members;
    uint environments;
};

void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at >= members * environments) return;
    if (facing[at] != 0u && (facing[at] - 1u) / 2u == places[at / environments]) facing[at] = 0u;
}
