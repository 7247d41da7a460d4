#version 450

// Writes a step's metrics to the ring that the host reads one step late: slot = iteration mod slots.
//
// Groups: x = ceil(count / local size).

layout(local_size_x = 64) in;
layout(constant_id = 1) const bool HAS_TAKEN = false; // false: no steps are counted

layout(std430, set = 0, binding = 0) readonly buffer Clock { uint clock[]; };       // [0]: the iteration
layout(std430, set = 0, binding = 1) readonly buffer Metrics { float metrics[]; };  // [count]
layout(std430, set = 0, binding = 2) writeonly buffer Ring { uint ring[]; };        // [slots, 3 + count]: iteration, steps, floats as their bits
layout(std430, set = 0, binding = 3) readonly buffer Taken { uint taken[]; };       // [2]: environment steps, low and high word

layout(push_constant) uniform Push {
    uint count;
    uint slots;
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint at = (clock[0] % slots) * (count + 3u);
    if (i < count) ring[at + 3u + i] = floatBitsToUint(metrics[i]);
    if (i == 0u) {
        ring[at] = clock[0];
        ring[at + 1u] = HAS_TAKEN ? taken[0] : 0u;
        ring[at + 2u] = HAS_TAKEN ? taken[1] : 0u;
    }
}
