#version 450

// Keeps a step of environments that the host has stepped: its transitions in the trajectory, the observations to act on next, and the sums over episodes
// and over observations acted on, which the caller clears before the first step. One invocation per environment and feature.
// Groups: x · local size >= count · features.

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "engine/finite.glsl"

layout(constant_id = 6) const bool TRAJECTORY = false;     // write every transition
layout(constant_id = 7) const bool HAS_NORMALIZER = false;
layout(constant_id = 8) const bool HAS_SEEN = false;
layout(constant_id = 9) const bool OBSERVATIONS_APART = false; // hosted_frames.comp keeps them, and the features are 1

layout(std430, set = 0, binding = 0) readonly buffer Arrived { float arrived[]; };  // [M, E, O]: to act on next; optional
layout(std430, set = 0, binding = 1) readonly buffer Final { float final[]; };      // [M, E, O]: the last of an episode, where the step ended one; optional
layout(std430, set = 0, binding = 2) readonly buffer Gain { float gain[]; };        // [M, E]: scaled rewards
layout(std430, set = 0, binding = 3) readonly buffer Flags { uint flags[]; };       // [M, E]: DONE_* of the step
layout(std430, set = 0, binding = 4) readonly buffer Word { uint word[]; };         // [M, E]: steps of the episode and flags, as wrapper.glsl packs them
layout(std430, set = 0, binding = 5) readonly buffer Sum { float sum[]; };          // [M, E]: return of the episode
layout(std430, set = 0, binding = 6) readonly buffer Normalizer { float normalizer[]; }; // [M / share, 2, O]: means and reciprocal deviations
layout(std430, set = 0, binding = 7) readonly buffer Step { uint step_index[]; };   // [1]: index on the time axis
layout(std430, set = 0, binding = 8) buffer Observed { float observed[]; };         // [M, E, O]; optional
layout(std430, set = 0, binding = 9) writeonly buffer EpisodeStep { uint episode_step[]; };     // [M, E]
layout(std430, set = 0, binding = 10) writeonly buffer EpisodeReturn { float episode_return[]; }; // [M, E]
layout(std430, set = 0, binding = 11) buffer Finished { float finished[]; };        // [4, M, E]: episodes ended, their returns, lengths, how many diverged
layout(std430, set = 0, binding = 12) buffer Seen { float seen[]; };                // [1 + 2 O, M, E]: see rollout.comp
layout(std430, set = 0, binding = 13) writeonly buffer Obs { float obs_out[]; };    // [T, M, E, O]; optional
layout(std430, set = 0, binding = 14) writeonly buffer Reward { float reward_out[]; }; // [T, M, E]; optional
layout(std430, set = 0, binding = 15) writeonly buffer Done { uint done_out[]; };   // [T, M, E]; optional
layout(std430, set = 0, binding = 16) writeonly buffer NextObs { float next_obs_out[]; }; // [T, M, E, O]; optional

layout(push_constant) uniform Push {
    uint members;
    uint environments; // per member
    uint features;     // O
    uint share;        // consecutive members that share a normalizer
    uint params_period; // members m and m + k * params_period have one policy
    uint first; // index in [M, E] of the first environment whose step is kept
    uint count; // of environments
    uint behind; // steps from the one that is kept to the index on the time axis; there is nothing to keep before the first one
};

const uint DONE_OVER = 3u; // terminated, truncated
const uint DONE_VOID = 4u;
const uint DONE_DIVERGED = 8u;

void main() {
    uint all = members * environments;
    if (gl_GlobalInvocationID.x >= count * features || step_index[0] < behind) return;
    uint index = first * features + gl_GlobalInvocationID.x;
    uint at = index / features, k = index % features; // at is the index in [M, E]
    uint i = (step_index[0] - behind) * all + at;     // in [T, M, E]
    uint done = flags[at];
    float acted_on = OBSERVATIONS_APART ? 0.0 : observed[index];
    if (TRAJECTORY && !OBSERVATIONS_APART) {
        obs_out[i * features + k] = acted_on;
        next_obs_out[i * features + k] = (done & DONE_OVER) != 0u && (done & DONE_VOID) == 0u ? final[index] : arrived[index];
    }
    bool taken = (done & DONE_VOID) == 0u;
    if (HAS_SEEN && taken) {
        float d = acted_on;
        if (HAS_NORMALIZER) d -= normalizer[at / environments % params_period / share * 2u * features + k];
        if (!m_isfinite(d * d)) d = 0.0; // too large to count
        seen[(1u + k) * all + at] += d;
        seen[(1u + features + k) * all + at] += d * d;
        if (k == 0u) seen[at] += 1.0;
    }
    if (!OBSERVATIONS_APART) observed[index] = arrived[index];
    if (k != 0u) return;
    if (TRAJECTORY) {
        reward_out[i] = gain[at];
        done_out[i] = done;
    }
    episode_step[at] = word[at];
    episode_return[at] = sum[at];
    if (taken && done != 0u) {
        finished[at] += 1.0;
        finished[all + at] += sum[at];
        finished[2u * all + at] += float(word[at] & 0x3FFFFFFFu);
        if ((done & DONE_DIVERGED) != 0u) finished[3u * all + at] += 1.0;
    }
}
