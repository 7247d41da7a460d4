#version 450

// Gives entered members their numbers and what is known of them: a new past player takes over the member's row and column of the payoff matrix, which begin
// anew, in place of the player that leaves. Recent scores against it begin anew; those against the member stay. Groups: x = ceil(players / local size): rows.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) buffer Payoff { uint payoff[]; };          // [P, P, 3]
layout(std430, set = 0, binding = 1) buffer Recent { float recent[]; };         // [M, P, 2]
layout(std430, set = 0, binding = 2) writeonly buffer Serial { uint serial[]; }; // [M, C]
layout(std430, set = 0, binding = 3) readonly buffer Entries { uint entries[]; }; // [M]
layout(std430, set = 0, binding = 4) readonly buffer Places { uint places[]; }; // [M]: the place that is entered; C: none

layout(push_constant) uniform Push {
    uint members;
    uint capacity;
};

void main() {
    uint row = gl_GlobalInvocationID.x, players = members * (1u + capacity);
    if (row >= players) return;
    bool past = row >= members;
    if (past && places[(row - members) / capacity] == (row - members) % capacity) return; // written with the member's row
    for (uint q = 0u; q < members; q++) {
        if (places[q] >= capacity) continue;
        uint from = row * players + q, to = row * players + members + q * capacity + places[q];
        [[unroll]] for (uint k = 0u; k < 3u; k++) {
            payoff[3u * to + k] = payoff[3u * from + k];
            payoff[3u * from + k] = 0u;
        }
        if (!past) recent[2u * to] = recent[2u * to + 1u] = 0.0;
    }
    if (past || places[row] >= capacity) return;
    uint at = row * capacity + places[row], to = (members + at) * players;
    serial[at] = entries[row];
    for (uint i = 0u; i < 3u * players; i++) {
        payoff[3u * to + i] = payoff[3u * row * players + i];
        payoff[3u * row * players + i] = 0u;
    }
}
