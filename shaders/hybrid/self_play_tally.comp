#version 450

// Adds the games of an iteration to what is known of every opponent in a member's pool: to the learner's row of the payoff
// matrix, which is exact, and to a recent score, in which a game counts `keep` times less with every later one against the same
// opponent (O. Vinyals et al., 2019, whose factor is .99). Groups: x = ceil(members × capacity / local size).

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/math.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Results { uint results[]; }; // [M, E, C, 3]: games won, drawn and lost
layout(std430, set = 0, binding = 1) buffer Payoff { uint payoff[]; };            // [M, C + 1, C, 3]; row C is the learner's
layout(std430, set = 0, binding = 2) buffer Recent { float recent[]; };           // [M, C, 2]: score (draws count half), games

layout(push_constant) uniform Push {
    uint members;
    uint environments;
    uint capacity;
    float keep;
};

void main() {
    uint at = gl_GlobalInvocationID.x, member = at / capacity, place = at % capacity;
    if (member >= members) return;
    uint n[3];
    [[unroll]] for (uint k = 0u; k < 3u; k++) n[k] = 0u;
    for (uint e = 0u; e < environments; e++) {
        uint from = ((member * environments + e) * capacity + place) * 3u;
        [[unroll]] for (uint k = 0u; k < 3u; k++) n[k] += results[from + k];
    }
    uint to = ((member * (capacity + 1u) + capacity) * capacity + place) * 3u;
    [[unroll]] for (uint k = 0u; k < 3u; k++) payoff[to + k] += n[k];
    uint games = n[0] + n[1] + n[2];
    if (games == 0u) return;
    float faded = keep >= 1.0 ? 1.0 : m_exp(float(games) * m_log(keep));
    recent[2u * at] = recent[2u * at] * faded + float(n[0]) + 0.5 * float(n[1]);
    recent[2u * at + 1u] = recent[2u * at + 1u] * faded + float(games);
}
