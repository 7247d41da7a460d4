#version 450

// Adds the games of an iteration to what is known of the players of a league: to the payoff matrix those in the worlds of the row's member; to the recent
// scores those in the worlds of both, if the player is a member, too. Games of a member against itself count for neither. Groups: x = ceil(members ×
// players / local size).

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/math.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Results { uint results[]; }; // [M, E, P, 3]: games won, drawn and lost
layout(std430, set = 0, binding = 1) buffer Payoff { uint payoff[]; };            // [P, P, 3]; rows 0 to M - 1 are the members'
layout(std430, set = 0, binding = 2) buffer Recent { float recent[]; };           // [M, P, 2]: score (draws count half), games

layout(push_constant) uniform Push {
    uint members;
    uint environments;
    uint players;
    float keep;
};

void main() {
    uint at = gl_GlobalInvocationID.x, member = at / players, player = at % players;
    if (member >= members || member == player) return;
    uint n[3];
    [[unroll]] for (uint k = 0u; k < 3u; k++) n[k] = 0u;
    for (uint e = 0u; e < environments; e++) {
        uint from = ((member * environments + e) * players + player) * 3u;
        [[unroll]] for (uint k = 0u; k < 3u; k++) n[k] += results[from + k];
    }
    [[unroll]] for (uint k = 0u; k < 3u; k++) payoff[3u * at + k] += n[k];
    if (player < members) {
        for (uint e = 0u; e < environments; e++) {
            uint from = ((player * environments + e) * players + member) * 3u;
            [[unroll]] for (uint k = 0u; k < 3u; k++) n[k] += results[from + 2u - k];
        }
    }
    uint games = n[0] + n[1] + n[2];
    if (games == 0u) return;
    float faded = keep >= 1.0 ? 1.0 : m_exp(float(games) * m_log(keep));
    recent[2u * at] = recent[2u * at] * faded + float(n[0]) + 0.5 * float(n[1]);
    recent[2u * at + 1u] = recent[2u * at + 1u] * faded + float(games);
}
