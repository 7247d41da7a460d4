#version 450

// Copies members over members: member p becomes a copy of member source[p]. Safe in place if every source is its own
// source, as selected survivors are. Groups: x = any number, which share a member's elements; y = members.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; }; // [M]
layout(std430, set = 0, binding = 1) buffer Values { uint values[]; };          // [outer, M, inner] 32-bit words of any type

layout(push_constant) uniform Push {
    uint outer;
    uint inner;
};

void main() {
    uint member = gl_WorkGroupID.y, from = source[member];
    if (from == member) {
        return;
    }
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < outer * inner; i += stride) {
        uint block = i / inner * gl_NumWorkGroups.y;
        values[(block + member) * inner + i % inner] = values[(block + from) * inner + i % inner];
    }
}
