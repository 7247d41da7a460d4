#version 450

// Places the chunks of a trajectory one after the other in each ring, and advances the ring's head.
//
// Groups: x = ceil(rings / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Counts { uint counts[]; };  // [rings, chunks]
layout(std430, set = 0, binding = 1) buffer Head { uint head[]; };               // [rings, 2]: the row to be written next, rows held
layout(std430, set = 0, binding = 2) writeonly buffer Begins { uint begins[]; }; // [rings, chunks]: where a chunk's first row goes
layout(std430, set = 0, binding = 3) writeonly buffer Reach { uint reach[]; };   // [rings]: how many rows back there are some that were held before

layout(push_constant) uniform Push {
    uint rings;
    uint chunks;
    uint capacity;
    uint most; // rows to hold
};

void main() {
    uint ring = gl_GlobalInvocationID.x;
    if (ring >= rings) return;
    uint at = head[2u * ring], total = 0u;
    for (uint c = 0u; c < chunks; c++) {
        begins[ring * chunks + c] = (at + total) % capacity;
        total += counts[ring * chunks + c];
    }
    head[2u * ring] = (at + total) % capacity;
    uint held = head[2u * ring + 1u] + total;
    reach[ring] = min(held, capacity);
    head[2u * ring + 1u] = min(held, most);
}
