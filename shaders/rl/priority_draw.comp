#version 450

// A batch's rows by their priorities, p / sum(p), one from each of B strata of equal probability (T. Schaul et al.,
// "Prioritized Experience Replay", 2016, appendix B.2.1), and the importance weights (1 / (N P))^beta over the largest of
// the batch (section 3.4): (smallest priority of the batch / priority)^beta. Probabilities are exact to 2^-32.
//
// Row b of member p's update u is where the running sum passes floor(sum F / 2^32), F = floor((2^32 b + w) / B), w being
// the first word of philox((seed, stream), (p, b, iteration, u)).
//
// Groups: x = members.

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/rng.glsl"
#include "engine/workgroup.glsl"
#include "rl/priority.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Priority { uvec4 priority[]; };  // [M, rows / 4]
layout(set = 0, binding = 1, rgba32ui) readonly uniform uimageBuffer priority_texels;
layout(std430, set = 0, binding = 2) readonly buffer Sums { uvec4 sums[]; };          // [M, nodes, 2] in fours
layout(set = 0, binding = 3, rgba32ui) readonly uniform uimageBuffer sums_texels;
layout(std430, set = 0, binding = 4) readonly buffer Exponent { float exponent[]; };  // [M]: beta
layout(std430, set = 0, binding = 5) readonly buffer Clock { uint clock[]; };         // [0]: the iteration; [1]: steps of every environment
layout(std430, set = 0, binding = 6) readonly buffer Update { uint update[]; };       // [0]: the update of the iteration
layout(std430, set = 0, binding = 7) buffer Drawn { uint drawn[]; };                  // [M, B]: the rows
layout(std430, set = 0, binding = 8) writeonly buffer Weight { float weight[]; };     // [M, B]

layout(push_constant) uniform Push {
    uint batch; // B
    uint rows;
    uint nodes;
    uint seed;
    uint stream;
    float anneal; // fraction of its distance to 1 that beta moves per step of the clock
};

bool less(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

uvec2 add(uvec2 a, uvec2 b) {
    uint carry, low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 subtract(uvec2 a, uvec2 b) {
    uint borrow, low = usubBorrow(a.x, b.x, borrow);
    return uvec2(low, a.y - b.y - borrow);
}

// floor(sum f / 2^32)
uvec2 part(uvec2 sum, uint f) {
    uint high, low, rest, ignored;
    umulExtended(sum.y, f, high, low);
    umulExtended(sum.x, f, rest, ignored);
    return add(uvec2(low, high), uvec2(rest, 0u));
}

// floor((2^32 b + w) / batch) by long division, b < batch <= 2^20
uint stratum(uint b, uint w) {
    uint a = (b << 12) | (w >> 20), f = a / batch;
    a = (a % batch << 12) | ((w >> 8) & 0xFFFu);
    f = (f << 12) | (a / batch);
    a = (a % batch << 8) | (w & 0xFFu);
    return (f << 8) | (a / batch);
}

uvec2 sum_of(uint node) {
    uvec4 two = LOAD4(sums, sums_texels, node >> 1);
    return (node & 1u) == 0u ? two.xy : two.zw;
}

uint priority_of(uint at) {
    uvec4 four = LOAD4(priority, priority_texels, at >> 2);
    uvec2 pair = (at & 2u) == 0u ? four.xy : four.zw;
    return (at & 1u) == 0u ? pair.x : pair.y;
}

// The row where the running sum passes t.
uint find(uint member, uvec2 t) {
    uint levels = 0u, n = rows, at = member * nodes, i = 0u;
    do {
        n = priority_above(n);
        levels++;
        at += n;
    } while (n > PRIORITY_FAN);
    for (uint level = levels; level > 0u; level--) {
        n = rows;
        for (uint k = 0u; k < level; k++) n = priority_above(n);
        at -= n; // where the level begins
        uint child = 0u;
        for (; child + 1u < PRIORITY_FAN; child++) {
            uvec2 sum = sum_of(at + i + child);
            if (less(t, sum)) break;
            t = subtract(t, sum);
        }
        i = (i + child) * PRIORITY_FAN;
    }
    uint child = 0u;
    for (; child + 1u < PRIORITY_FAN; child++) {
        uint q = priority_of(member * rows + i + child);
        if (less(t, uvec2(q, 0u))) break;
        t = subtract(t, uvec2(q, 0u));
    }
    return min(i + child, rows - 1u);
}

void main() {
    uint member = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
    uvec2 total = uvec2(0u);
    for (uint k = 0u; k < PRIORITY_FAN; k++) total = add(total, sum_of((member + 1u) * nodes - PRIORITY_FAN + k));
    uint least = 0xFFFFFFFFu;
    for (uint b = lane; b < batch; b += WORKGROUP) {
        uint w = philox(uvec2(seed, stream), uvec4(member, b, clock[0], update[0])).x;
        uint row = total == uvec2(0u) ? 0u : find(member, part(total, stratum(b, w))); // an empty ring has nothing to draw
        drawn[member * batch + b] = row;
        least = min(least, priority_of(member * rows + row));
    }
    float smallest = float(workgroup_min(least));
    float beta = exponent[member];
    beta += (1.0 - beta) * min(1.0, float(clock[1]) * anneal);
    for (uint b = lane; b < batch; b += WORKGROUP) { // an invocation reads what it wrote itself
        uint q = priority_of(member * rows + drawn[member * batch + b]);
        weight[member * batch + b] = q == 0u ? 1.0 : m_exp(beta * m_log(smallest / float(q)));
    }
}
