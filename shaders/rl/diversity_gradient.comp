#version 450

// DvD (J. Parker-Holder et al., 2020): adds the gradient of the diversity term with respect to the actions in common
// states to that of the rest of the loss, equation 2 of rl/diversity.go. Groups: x = ceil(agents * size / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Action { float action[]; };           // [M, stride], of which the first size are used
layout(std430, set = 0, binding = 1) readonly buffer Coefficient { float coefficient[]; }; // [M, M]
layout(std430, set = 0, binding = 2) buffer AtAction { float at_action[]; };               // [M, stride]

layout(push_constant) uniform Push {
    uint agents; // M
    uint size;   // states times actions
    uint stride; // from one agent's actions to the next's
};

void main() {
    uint at = gl_GlobalInvocationID.x, k = at / size, n = at % size;
    if (at >= agents * size) return;
    float own = action[k * stride + n], sum = 0.0;
    for (uint j = 0u; j < agents; j++) {
        float c = coefficient[k * agents + j];
        if (c != 0.0) sum += c * (own - action[j * stride + n]); // 0 for agents that have diverged
    }
    at_action[k * stride + n] += sum;
}
