#version 450

// Copies members of one tensor over those of another: member p of values becomes member source[p] of from. Where source[p] is no member, it stays.
// Groups: x = any number, which share a member's elements; y = members.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; }; // [M]
layout(std430, set = 0, binding = 1) readonly buffer From { uint from[]; };     // [outer, M, inner] 32-bit words of any type
layout(std430, set = 0, binding = 2) writeonly buffer Values { uint values[]; }; // the same

layout(push_constant) uniform Push {
    uint outer;
    uint inner;
};

void main() {
    uint member = gl_WorkGroupID.y, of = source[member];
    if (of >= gl_NumWorkGroups.y) {
        return;
    }
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < outer * inner; i += stride) {
        uint block = i / inner * gl_NumWorkGroups.y;
        values[(block + member) * inner + i % inner] = from[(block + of) * inner + i % inner];
    }
}
