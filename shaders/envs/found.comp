#version 450

// Adds the things that the environments of a group have met, bits of whole numbers in their states, to those found before. Groups: x = words, y = groups of
// environments.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

layout(std430, set = 0, binding = 0) readonly buffer EnvState { float env_state[]; }; // [S, G * each]
layout(std430, set = 0, binding = 1) readonly buffer Element { uint element[]; };     // [words]: of the state
layout(std430, set = 0, binding = 2) buffer Found { uint found[]; };                  // [G, words]

layout(push_constant) uniform Push {
    uint all;  // environments
    uint each; // of a group
};

shared uint parts[WORKGROUP];

void main() {
    uint lane = gl_LocalInvocationID.x, word = gl_WorkGroupID.x, group = gl_WorkGroupID.y, bits = 0u;
    for (uint i = lane; i < each; i += WORKGROUP) {
        float v = env_state[element[word] * all + group * each + i];
        bits |= v >= 0.0 && v < 16777216.0 ? uint(v) : 0u; // a state that is not finite has found nothing
    }
    parts[lane] = bits;
    barrier();
    if (lane != 0u) return;
    for (uint i = 1u; i < WORKGROUP; i++) bits |= parts[i];
    found[group * gl_NumWorkGroups.x + word] |= bits;
}
