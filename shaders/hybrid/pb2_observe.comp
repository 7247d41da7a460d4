#version 450

// Stores the observations of an interval: the members' hyperparameters and the rise of their fitness in it. A fitness
// that is not finite is no observation. The newest rows replace the oldest. Groups: x = ceil(members / local size).

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Fitness { float fitness[]; };   // [M]
layout(std430, set = 0, binding = 1) readonly buffer Previous { float previous[]; }; // [M]
layout(std430, set = 0, binding = 2) readonly buffer Units { float units[]; };       // [M, row]
layout(std430, set = 0, binding = 3) readonly buffer Count { uint count[]; };        // [0]: number of exchanges before
layout(std430, set = 0, binding = 4) writeonly buffer Inputs { float inputs[]; };    // [R, row]
layout(std430, set = 0, binding = 5) writeonly buffer Gains { float gains[]; };      // [R]
layout(std430, set = 0, binding = 6) writeonly buffer Times { float times[]; };      // [R]

layout(push_constant) uniform Push {
    uint members;
    uint row;
    uint rows; // R, a multiple of the members
};

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= members) return;
    uint at = count[0] % (rows / members) * members + p;
    gains[at] = fitness[p] - previous[p];
    times[at] = float(count[0]);
    for (uint i = 0u; i < row; i++) inputs[at * row + i] = units[p * row + i];
}
