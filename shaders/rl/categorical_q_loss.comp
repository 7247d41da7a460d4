#version 450

// The cross-entropy of critics whose values are distributions of returns, logits of the atoms z_0 ... z_(K-1), and its
// gradient at their outputs: Y. Seo et al., "FastTD3: Simple, Fast, and Capable Reinforcement Learning for Humanoid Control",
// 2025, section 2, with the projection of M. G. Bellemare et al., 2017, equation 7.
//
//     m_i = the projection on the atoms of the distribution that has p'_i,j(s', a') at
//           reward_scale R + factor (z_j - temperature log pi(a'|s')),  of target i
//     loss = mean sum_i -sum_k m_k log p_i,k(s, a),
//     m = m_i where UNCLIPPED, else that of the target whose m has the smaller mean
//
// Groups: x = ceil(rows / local size), y = members.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint CRITICS = 2;             // per member
layout(constant_id = 2) const bool UNCLIPPED = false;       // each critic has its own target
layout(constant_id = 3) const bool LOG_TEMPERATURE = false; // Temperature holds logarithms, each the first of four
layout(constant_id = 4) const bool HAS_NEXT_LOG_PROB = false;
layout(constant_id = 5) const bool HAS_TEMPERATURE = false; // otherwise values have no entropy term

#include "engine/finite.glsl"
#include "engine/load.glsl"
#include "engine/math.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Reward { float reward[]; };             // [M, rows]
layout(std430, set = 0, binding = 1) readonly buffer Factor { float factor[]; };             // [M, rows]
layout(std430, set = 0, binding = 2) readonly buffer NextValue { float next_values[]; };     // [M, CRITICS, rows, atoms]: of the targets
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer next_values_texels;
layout(std430, set = 0, binding = 4) readonly buffer NextLogProb { float next_log_prob[]; }; // [M, rows]; optional
layout(std430, set = 0, binding = 5) readonly buffer Temperature { float temperature[]; };   // [M], or [M, 4]; optional
layout(std430, set = 0, binding = 6) readonly buffer RewardScale { float reward_scale[]; };  // [M]
layout(std430, set = 0, binding = 7) readonly buffer Value { float values[]; };              // [M, CRITICS, rows, atoms]
layout(set = 0, binding = 8, rgba32f) readonly uniform imageBuffer values_texels;
layout(std430, set = 0, binding = 9) writeonly buffer AtValue { float at_values[]; };        // [M, CRITICS, rows, atoms]: the gradient
layout(std430, set = 0, binding = 10) writeonly buffer Loss { float loss[]; };               // [M, rows]: cross-entropies, summed over critics
layout(std430, set = 0, binding = 11) writeonly buffer Chosen { float chosen[]; };           // [M, CRITICS, rows]: mean returns

layout(push_constant) uniform Push {
    uint rows;
    uint atoms;
    float low;
    float high;
};

#include "rl/atoms.glsl"

ATOMS_OF(next_of, next_values, next_values_texels)
ATOMS_OF(value_of, values, values_texels)

// The position of atom j of a target among the atoms, in units of their distance.
float placed(float reward_part, float f, float shift, uint j) {
    return clamp((reward_part + f * (low + atom_spacing() * float(j) - shift) - low) / atom_spacing(), 0.0, float(atoms - 1u));
}

void main() {
    uint i = gl_GlobalInvocationID.x, member = gl_WorkGroupID.y;
    if (i >= rows) return;
    uint at = member * rows + i;
    float scaled = reward_scale[member] * reward[at], f = factor[at], shift = 0.0, sum = 0.0;
    if (HAS_NEXT_LOG_PROB && HAS_TEMPERATURE) {
        shift = (LOG_TEMPERATURE ? m_exp(temperature[4u * member]) : temperature[member]) * next_log_prob[at];
        shift = f == 0.0 ? 0.0 : shift; // which may not be finite
    }
    uint smaller = 0u; // the target whose projection has the smaller mean
    float least = 0.0;
    if (!UNCLIPPED && CRITICS > 1u) {
        [[dont_unroll]] for (uint c = 0u; c < CRITICS; c++) {
            uint base = ((member * CRITICS + c) * rows + i) * atoms;
            Atoms next = next_of(base);
            float mean = 0.0;
            [[dont_unroll]] for (uint j = 0u; j < atoms; j++) {
                mean += m_exp(LOAD(next_values, next_values_texels, base + j) - next.log_sum) * placed(scaled, f, shift, j);
            }
            smaller = c == 0u || mean < least ? c : smaller;
            least = c == 0u ? mean : min(least, mean);
        }
    }
    [[dont_unroll]] for (uint c = 0u; c < CRITICS; c++) {
        uint base = ((member * CRITICS + c) * rows + i) * atoms, from = ((member * CRITICS + (UNCLIPPED ? c : smaller)) * rows + i) * atoms;
        Atoms next = next_of(from), own = value_of(base);
        bool unknown = m_isnan(next.log_sum); // all atoms fall on one place if the factor is 0, whatever they have
        bool bad = !m_isfinite(scaled) || !m_isfinite(shift) || unknown && f != 0.0;
        float broken = bad ? M_NAN : 0.0; // NaN would be lost in the projection
        // Atoms of the target, in order, fall between atoms k and k + 1 that never go back, since factor is not negative: an
        // iteration either takes the next of them, or is done with k.
        uint k = 0u, j = 0u;
        float mass = 0.0, over = 0.0, cross = 0.0; // mass: of atom k; over: of the next
        [[dont_unroll]] for (uint n = 0u; n < 2u * atoms; n++) {
            float place = placed(scaled, f, shift, j), below = bad ? float(k) : floor(place);
            if (j < atoms && below <= float(k)) {
                float p = unknown ? (j == 0u ? 1.0 : 0.0) : m_exp(LOAD(next_values, next_values_texels, from + j) - next.log_sum);
                mass += p * (1.0 - (place - below));
                over += p * (place - below);
                j++;
            } else {
                float log_p = LOAD(values, values_texels, base + k) - own.log_sum;
                cross -= mass * log_p;
                at_values[base + k] = (m_exp(log_p) - mass + broken) / float(rows);
                mass = over;
                over = 0.0;
                k++;
            }
        }
        chosen[(member * CRITICS + c) * rows + i] = own.mean;
        sum += cross + broken;
    }
    loss[at] = sum;
}
