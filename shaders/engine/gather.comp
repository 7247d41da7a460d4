#version 450

// Copies members over members: member p becomes a copy of member source[p]. Safe in place when every source is its own source,
// as the survivors of a selection are. Groups: x = ceil(outer * inner / local size), y = population.

layout(local_size_x = 64) in;

layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; }; // [P]
layout(std430, set = 0, binding = 1) buffer Values { uint values[]; };          // [outer, P, inner] 32-bit words of any type

layout(push_constant) uniform Push {
    uint outer;
    uint inner;
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint member = gl_WorkGroupID.y;
    uint from = source[member];
    if (i >= outer * inner || from == member) {
        return;
    }
    uint block = i / inner * gl_NumWorkGroups.y;
    values[(block + member) * inner + i % inner] = values[(block + from) * inner + i % inner];
}
