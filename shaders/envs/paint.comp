#version 450

// Observations of environments that paint them (ENV_WORD), from the states between two steps: what is acted on next, which is also the trajectory's observation
// of the step to come and among the sums over observations acted on; and the true observation after the step before, which differs where that ended
// an episode. A workgroup paints those of an environment.
//
// Groups: x = environments, from `environment` on.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 6) in;

#include "envs/options.glsl"
#include "ENVIRONMENT"
#include "envs/paint.glsl"

layout(constant_id = 20) const bool PACKED = false;          // trajectories have words; else floats
layout(constant_id = 21) const bool OBSERVED_PACKED = false; // as PACKED, of what is acted on next
layout(constant_id = 22) const bool HAS_NORMALIZER = false;  // sums of observations are of deviations from its mean
layout(constant_id = 23) const bool STOPS = false;           // after the end of its episode an environment takes no steps
layout(constant_id = 24) const bool HAS_OBSERVED = false;
layout(constant_id = 25) const bool HAS_OBS = false;
layout(constant_id = 26) const bool HAS_NEXT_OBS = false;
layout(constant_id = 27) const bool HAS_SEEN = false;

layout(std430, set = 0, binding = 0) readonly buffer EnvState { float env_state[]; };       // [STATE_SIZE, M, E]
layout(std430, set = 0, binding = 1) readonly buffer EpisodeStep { uint episode_step[]; };  // [M, E]: see envs/bits.glsl
layout(std430, set = 0, binding = 2) readonly buffer LastState { float last_state[]; };     // as EnvState, but before any reset; optional
layout(std430, set = 0, binding = 3) readonly buffer Done { uint done[]; };                 // [T, M, E]: DONE_* flags of steps; optional
layout(std430, set = 0, binding = 4) readonly buffer Normalizer { float normalizer[]; };    // [M / share, 2, OBS_SIZE]: mean, 1 / std
layout(std430, set = 0, binding = 5) writeonly buffer Observed { uint observed[]; };        // [M, E, OBS_WORDS or OBS_SIZE]
layout(std430, set = 0, binding = 6) writeonly buffer Obs { uint obs_out[]; };              // [T, M, E, OBS_WORDS or OBS_SIZE]
layout(std430, set = 0, binding = 7) writeonly buffer NextObs { uint next_obs_out[]; };     // [T, M, E, OBS_WORDS or OBS_SIZE]
layout(std430, set = 0, binding = 8) buffer Seen { float seen[]; };                         // [1 + 2 OBS_SIZE, M, E]: see envs/bits_rollout.comp

layout(push_constant) uniform Push {
    uint members;
    uint environments;  // per member
    uint environment;   // index in [M, E] of the first that is painted
    uint step;          // index on the time axis of the step to come
    uint params_period; // members m and m + k * params_period share a normalizer
    uint share;         // number of consecutive members that share a normalizer
};

const uint DONE_VOID = 4u; // as in envs/bits.glsl

void main() {
    uint at = environment + gl_WorkGroupID.x, all = members * environments; // at: index in [M, E]
    uint flags = HAS_NEXT_OBS ? done[(step - 1u) * all + at] : 0u;
    bool stepped = (flags & DONE_VOID) == 0u;
    bool steps = !(STOPS && episode_step[at] >> 30 != 0u); // a step follows that is not void
    float s[STATE_SIZE], last[STATE_SIZE];
    TRANSFER_LOAD(s, f, STATE_SIZE, env_state[f * all + at])
    if (HAS_NEXT_OBS) {
        TRANSFER_LOAD(last, f, STATE_SIZE, last_state[f * all + at])
    }
    uint mean = at / environments % params_period / share * 2u * OBS_SIZE;
    [[dont_unroll]] for (uint w = gl_LocalInvocationID.x; w < OBS_WORDS; w += gl_WorkGroupSize.x) {
        uint word = env_word(s, w);
        if (HAS_OBSERVED) {
            PAINT_STORE(OBSERVED_PACKED, word, observed, at, w)
        }
        if (HAS_OBS && steps) {
            PAINT_STORE(PACKED, word, obs_out, step * all + at, w)
        }
        if (HAS_SEEN && (steps || step == 0u)) {
            bool more = step != 0u;
            float one = steps ? 1.0 : 0.0;
            if (w == 0u) seen[at] = (more ? seen[at] : 0.0) + one;
            [[dont_unroll]] for (uint k = w * ELEMENTS; k < min((w + 1u) * ELEMENTS, uint(OBS_SIZE)); k++) {
                float d = one * (element_value(word, k) - (HAS_NORMALIZER ? normalizer[mean + k] : 0.0));
                uint sum = (1u + k) * all + at;
                uint square = (1u + OBS_SIZE + k) * all + at;
                seen[sum] = (more ? seen[sum] : 0.0) + d;
                seen[square] = (more ? seen[square] : 0.0) + d * d;
            }
        }
        if (HAS_NEXT_OBS && stepped) {
            uint next = word;
            if (flags != 0u) next = env_word(last, w);
            PAINT_STORE(PACKED, next, next_obs_out, (step - 1u) * all + at, w)
        }
    }
}
