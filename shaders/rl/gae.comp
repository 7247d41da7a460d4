#version 450

// Generalized advantage estimation (J. Schulman et al., 2016, equations 11 to 16). A terminated step does not
// bootstrap; a truncated one bootstraps from the value of its true next observation. Neither passes advantage on
// across the end of the episode. The next observation of other steps is that of the step after them, whose value is
// known.
//
// Groups: x = ceil(members * environments / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Reward { float reward[]; };        // [T, M, E]
layout(std430, set = 0, binding = 1) readonly buffer Done { uint done[]; };             // [T, M, E]: bit 0 terminated, bit 1 truncated
layout(std430, set = 0, binding = 2) readonly buffer Value { float value[]; };          // [T, M, E]
layout(std430, set = 0, binding = 3) readonly buffer NextValue { float next_value[]; }; // [T, M, E]: of the next observation where it truncates or is last
layout(std430, set = 0, binding = 4) readonly buffer Discount { float discount[]; };    // [M]
layout(std430, set = 0, binding = 5) readonly buffer Lambda { float lambda[]; };        // [M]
layout(std430, set = 0, binding = 6) writeonly buffer Advantage { float advantage[]; }; // [T, M, E]
layout(std430, set = 0, binding = 7) writeonly buffer Target { float target[]; };       // [T, M, E]: advantage + value, the critic's target

layout(push_constant) uniform Push {
    uint horizon;
    uint members;
    uint environments;
};

void main() {
    uint at = gl_GlobalInvocationID.x;
    uint all = members * environments;
    if (at >= all) {
        return;
    }
    float gamma = discount[at / environments];
    float decay = gamma * lambda[at / environments];
    float a = 0.0, after = 0.0; // after: the value of step t + 1
    for (uint t = horizon; t-- > 0u;) {
        uint i = t * all + at;
        uint flags = done[i];
        float v = value[i];
        float next = flags == 0u && t + 1u < horizon ? after : next_value[i];
        float delta = reward[i] + ((flags & 1u) != 0u ? 0.0 : gamma * next) - v; // equation 9
        a = delta + (flags != 0u ? 0.0 : decay * a);
        advantage[i] = a;
        target[i] = a + v;
        after = v;
    }
}
