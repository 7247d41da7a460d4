#version 450

// Counts environment steps in 64 bits. Groups: 1.

layout(local_size_x = 1) in;

layout(std430, set = 0, binding = 0) buffer Taken { uint taken[]; }; // [2]: low and high word

layout(push_constant) uniform Push {
    uint low; // of the steps to add
    uint high;
};

void main() {
    uint carry;
    taken[0] = uaddCarry(taken[0], low, carry);
    taken[1] += high + carry;
}
