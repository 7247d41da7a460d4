#version 450

// Gives members that became copies of others (their source is not themselves) new values: from another
// tensor, or zeros. Groups: x = any number, which share a member's elements; y = members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_FROM = false;

layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; };     // [M]
layout(std430, set = 0, binding = 1) readonly buffer From { uint from[]; };         // [outer, M, inner] 32-bit words of any type; optional
layout(std430, set = 0, binding = 2) writeonly buffer Values { uint values[]; };    // the same

layout(push_constant) uniform Push {
    uint outer;
    uint inner;
};

void main() {
    uint member = gl_WorkGroupID.y;
    if (source[member] == member) return;
    uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint i = gl_GlobalInvocationID.x; i < outer * inner; i += stride) {
        uint at = (i / inner * gl_NumWorkGroups.y + member) * inner + i % inner;
        values[at] = HAS_FROM ? from[at] : 0u;
    }
}
