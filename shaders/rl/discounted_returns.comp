#version 450

// The discounted sum of the rewards that an environment has given since its episode began, R <- discount R + reward,
// at every step; from 0 in a new episode. Its deviation over all transitions scales rewards (shaders/rl/scale_rewards.comp).
// The sum goes on from one iteration to the next.
//
// Groups: x = ceil(members * environments / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Reward { float reward[]; };     // [T, M, E]
layout(std430, set = 0, binding = 1) readonly buffer Done { uint done[]; };          // [T, M, E]: DONE_* flags
layout(std430, set = 0, binding = 2) readonly buffer Discount { float discount[]; }; // [M]
layout(std430, set = 0, binding = 3) buffer Carried { float carried[]; };            // [M, E]: the sum after the last step
layout(std430, set = 0, binding = 4) writeonly buffer Returns { float returns[]; };  // [T, M, E]

layout(push_constant) uniform Push {
    uint horizon;
    uint members;
    uint environments;
};

void main() {
    uint at = gl_GlobalInvocationID.x, all = members * environments;
    if (at >= all) return;
    float gamma = discount[at / environments], sum = carried[at];
    for (uint t = 0u; t < horizon; t++) {
        uint i = t * all + at;
        sum = gamma * sum + reward[i];
        returns[i] = sum;
        sum = done[i] != 0u ? 0.0 : sum;
    }
    carried[at] = sum;
}
