#version 450

// Adds the environment steps of all searches' generations to the run's count. Groups: 1.

layout(local_size_x = 1) in;

layout(std430, set = 0, binding = 0) readonly buffer Steps { uint steps[]; }; // [M, 2]: low and high word
layout(std430, set = 0, binding = 1) buffer Taken { uint taken[]; };          // [2]

layout(push_constant) uniform Push { uint searches; };

void main() {
    uint low = taken[0], high = taken[1];
    for (uint m = 0u; m < searches; m++) {
        uint carry;
        low = uaddCarry(low, steps[2u * m], carry);
        high += steps[2u * m + 1u] + carry;
    }
    taken[0] = low;
    taken[1] = high;
}
