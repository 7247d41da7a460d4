#version 450

// Draws which rows of parameters play the seats of every world whose episode begins: the member's own row, whose index is
// the member's, in one seat, and rows of a pool in the others; or the member's own row in all; or other members' own rows in the
// others; or a player without parameters. With results, the game that ended before is counted for the row of the pool that the member faced. Groups:
// x = ceil(worlds / local size).

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/finite.glsl"
#include "engine/rng.glsl"
#include "envs/rows.glsl"

layout(constant_id = 1) const bool HAS_WEIGHTS = false; // rows are drawn in proportion to weights; else uniformly
layout(constant_id = 2) const bool HAS_RESULTS = false; // games of two seats are counted
layout(constant_id = 3) const bool HAS_RETURNS = false; // with results
layout(constant_id = 4) const bool HAS_FACING = false;  // with results

layout(std430, set = 0, binding = 0) readonly buffer WorldStep { uint world_step[]; }; // [M, E]: step, and in the high two bits how it ended
layout(std430, set = 0, binding = 1) readonly buffer Weights { float weights[]; };     // [M, K]: at least 0
layout(std430, set = 0, binding = 2) readonly buffer Clock { uint clock[]; };          // [1]: environment steps per environment so far
layout(std430, set = 0, binding = 3) writeonly buffer Rows { uint rows[]; };           // [M, E, A]
layout(std430, set = 0, binding = 4) readonly buffer Returns { float returns[]; };     // [M, E, A]: of the last episode, until another begins
layout(std430, set = 0, binding = 5) buffer Facing { uint facing[]; };                 // [M, E]: 1 + 2 × row + the member's seat; 0: nothing counts
layout(std430, set = 0, binding = 6) buffer Results { uint results[]; };               // [M, E, K, 3]: games that the member won, drew and lost

layout(push_constant) uniform Push {
    uint members;
    uint environments;
    uint seats;
    uint own;    // the seat of the member's own row; the number of seats if that is drawn, too
    uint first;  // row of the pool's first
    uint count;  // rows of the pool
    uint apart;  // rows from a member's pool to the next one's; 0: members share one
    float alone; // probability that the member's own row plays all seats
    float peers; // probability that other members' own rows play the others; only with several members
    float script; // probability that the world's script plays the others
    float random; // probability that the others' actions are drawn uniformly
    uint step;   // steps since the clock's count
    uint seed;
    uint stream;
    bool resets; // a world after the end of its episode begins another one
};

void main() {
    uint at = gl_GlobalInvocationID.x;
    if (at >= members * environments) return;
    uint word = world_step[at], member = at / environments;
    bool begins = (word & 0x3FFFFFFFu) == 0u && (word >> 30) == 0u || resets && (word >> 30) != 0u;
    if (!begins) return;
    if (HAS_RESULTS && HAS_RETURNS && HAS_FACING && (word >> 30) != 0u && facing[at] != 0u) {
        uint slot = (facing[at] - 1u) / 2u, seat = (facing[at] - 1u) % 2u;
        float difference = returns[at * 2u + seat] - returns[at * 2u + 1u - seat];
        if (!m_isnan(difference)) results[(at * count + slot) * 3u + (difference > 0.0 ? 0u : difference == 0.0 ? 1u : 2u)]++;
    }
    Rng rng = rng_new(seed, stream, member, at % environments, clock[1] + step);
    float u = rng_uniform(rng);
    uint mine = own < seats ? own : min(uint(u * float(seats)), seats - 1u);
    float kind = alone + peers + script + random > 0.0 ? rng_uniform(rng) : 1.0;
    bool mirror = kind < alone, peer = !mirror && kind < alone + peers;
    bool scripted = !mirror && !peer && kind < alone + peers + script;
    bool drawn = !mirror && !peer && !scripted && kind < alone + peers + script + random;
    uint faced = 0u;
    float sum = 0.0;
    if (HAS_WEIGHTS) {
        [[dont_unroll]] for (uint k = 0u; k < count; k++) sum += weights[member * count + k];
    }
    [[dont_unroll]] for (uint seat = 0u; seat < seats; seat++) {
        u = rng_uniform(rng);
        uint chosen = min(uint(u * float(count)), count - 1u);
        if (HAS_WEIGHTS && sum > 0.0) { // the distribution function, inverted; rows of weight 0 are never drawn
            float below = 0.0;
            bool found = false;
            [[dont_unroll]] for (uint k = 0u; k < count; k++) {
                float w = weights[member * count + k];
                below += w;
                if (w > 0.0 && !found) {
                    chosen = k;
                    found = u * sum < below;
                }
            }
        }
        bool other = seat != mine && !mirror;
        uint row = first + member * apart + chosen;
        if (peer) {
            row = min(uint(u * float(members - 1u)), members - 2u);
            row += row >= member ? 1u : 0u;
        }
        if (scripted) row = ROW_SCRIPT;
        if (drawn) row = ROW_RANDOM;
        rows[at * seats + seat] = other ? row : member;
        if (other && !peer && !scripted && !drawn) faced = 1u + 2u * chosen + mine;
    }
    if (HAS_FACING) facing[at] = faced;
}
