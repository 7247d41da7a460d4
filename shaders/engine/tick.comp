#version 450

// Advances the clock at the end of a step. Groups: 1.

layout(local_size_x = 1) in;

layout(std430, set = 0, binding = 0) buffer Clock { uint clock[]; }; // [2]: iterations, environment steps per environment

layout(push_constant) uniform Push {
    uint iterations;
    uint steps;
};

void main() {
    clock[0] += iterations;
    clock[1] += steps;
}
