#version 450

// Replaces candidates by rows. Groups: x = any number, which share a search's coordinates; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Index { uint index[]; };  // [M, count]: indices of candidates
layout(std430, set = 0, binding = 1) readonly buffer Rows { float rows[]; };   // [M, count, row]
layout(std430, set = 0, binding = 2) writeonly buffer Into { float into[]; };  // [M, N, row]

layout(push_constant) uniform Push {
    uint population;
    uint count;
    uint row; // any number
};

void main() {
    uint search = gl_WorkGroupID.y;
    for (uint i = gl_GlobalInvocationID.x; i < count * row; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        uint place = index[search * count + i / row];
        if (place < population) into[(search * population + place) * row + i % row] = rows[search * count * row + i];
    }
}
