#version 450

// The gradient at the memory of B rows of every network before the first step, from what that step carries back.
//
// Groups: x = ceil(B units / local size), y = networks.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool GRU = false; // or an LSTM

layout(std430, set = 0, binding = 0) readonly buffer Carried { float carried[]; };     // [N, B, units]
layout(std430, set = 0, binding = 1) readonly buffer Direct { float direct[]; };       // [N, B, units]
layout(std430, set = 0, binding = 2) writeonly buffer AtMemory { float at_memory[]; }; // [N, B, units], in LSTMs [N, B, 2 units]

layout(push_constant) uniform Push {
    uint units;
    uint rows; // B
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= rows * units) return;
    uint line = gl_WorkGroupID.y * rows + i / units, u = i % units, from = line * units + u;
    if (!GRU) {
        at_memory[2u * line * units + u] = carried[from];
        at_memory[(2u * line + 1u) * units + u] = direct[from];
    } else {
        at_memory[from] = carried[from] + direct[from];
    }
}
