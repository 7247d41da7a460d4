#version 450

// DvD (J. Parker-Holder et al., 2020): mean squared differences of the actions of every two agents in common states, for
// rl/diversity.go. Groups: x = ceil(agents^2 / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Action { float action[]; };         // [M, stride], of which the first size are used
layout(std430, set = 0, binding = 1) writeonly buffer Distance { float distances[]; };   // [M, M]: written where i < j

layout(push_constant) uniform Push {
    uint agents; // M
    uint size;   // states times actions
    uint stride; // from one agent's actions to the next's
};

void main() {
    uint at = gl_GlobalInvocationID.x, i = at / agents, j = at % agents;
    if (at >= agents * agents || i >= j) return;
    float sum = 0.0;
    for (uint n = 0u; n < size; n++) {
        float d = action[i * stride + n] - action[j * stride + n];
        sum += d * d;
    }
    distances[at] = sum / float(size);
}
