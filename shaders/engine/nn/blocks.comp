#version 450

// Rows of every network to blocks of a trajectory, the inverse of rows.comp: [networks, T B, width] to
// [T, networks, B, features], features `column` on of each.
//
// Groups: x = any number, which share the elements.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Rows { float rows[]; };      // [networks, T B, width]
layout(std430, set = 0, binding = 1) writeonly buffer Blocks { float blocks[]; }; // [T, networks, B, features]

layout(push_constant) uniform Push {
    uint count; // elements of the blocks
    uint networks;
    uint steps;  // T
    uint inner;  // B
    uint features;
    uint width;
    uint column;
};

void main() {
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint e = gl_GlobalInvocationID.x; e < count; e += stride) {
        uint f = e % features, line = e / features, r = line % inner, block = line / inner, n = block % networks, t = block / networks;
        blocks[e] = rows[((n * steps + t) * inner + r) * width + column + f];
    }
}
