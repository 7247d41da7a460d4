#version 450

// Copied members take over their sources' own rows and pools, in rows [M + M · n, width], which begin with the members' own and go on with a pool
// of n for each. Safe in place if every source is its own source. Groups: x = any number, which share a member's elements; y = members.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; }; // [M]
layout(std430, set = 0, binding = 1) buffer Rows { uint rows[]; };              // [M + M · n, width] words of any type

layout(push_constant) uniform Push {
    uint members;
    uint size; // n
    uint width;
};

void main() {
    uint member = gl_WorkGroupID.y, from = source[member];
    if (from == member) return;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < (1u + size) * width; i += stride) { // the own row is followed by the pool
        uint k = i / width, to = k == 0u ? member : members + member * size + k - 1u, of = k == 0u ? from : members + from * size + k - 1u;
        rows[to * width + i % width] = rows[of * width + i % width];
    }
}
