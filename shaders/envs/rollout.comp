#version 450

// The fused rollout: policy and environment in one dispatch, many steps. A workgroup is one subgroup; it has one member's
// network (engine/nn/network.glsl) and steps up to LANES of the member's environments, one a lane. At each step the lanes evaluate the
// network for their environments, all lanes together, then step their own environments at once.
//
// Groups: x = population * ceil(environments / LANES).

#extension GL_KHR_shader_subgroup_vote : require

#include "ENVIRONMENT"
#include "envs/wrapper.glsl"

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;
const uint IN = OBS_SIZE;
const uint OUT = ACTION_SIZE;

layout(constant_id = 20) const uint POLICY = 0;     // one of the following
const uint POLICY_NETWORK = 0u;
const uint POLICY_RANDOM = 1u;                      // uniform over the action space
layout(constant_id = 21) const uint TRAJECTORY = 0; // 1: write every transition
layout(constant_id = 22) const uint NORMALIZE = 0;  // 1: observations pass the running normalizer
layout(constant_id = 23) const uint SQUASH = 0;     // 1: continuous actions are squashed by tanh
layout(constant_id = 24) const uint MODE = 0;       // 1: the distribution's mode instead of a sample

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };     // [P, row]
layout(std430, set = 0, binding = 1) readonly buffer Params4 { vec4 params4[]; };    // the same
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; }; // [P, 2, OBS_SIZE]: mean, 1 / std
layout(std430, set = 0, binding = 3) readonly buffer ActionScale { float action_scale[]; }; // [2, ACTION_SIZE]: middle, half range
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };        // [1]: steps every environment has taken before
layout(std430, set = 0, binding = 5) buffer EnvState { float env_state[]; };         // [STATE_SIZE, P, E]
layout(std430, set = 0, binding = 6) buffer EpisodeStep { uint episode_step[]; };    // [P, E]
layout(std430, set = 0, binding = 7) buffer EpisodeReturn { float episode_return[]; }; // [P, E]
layout(std430, set = 0, binding = 8) buffer Finished { float finished[]; };          // [3, P, E]: episodes ended, their returns, their lengths, summed from first = 0 on
layout(std430, set = 0, binding = 9) writeonly buffer Obs { float obs_out[]; };      // [T, P, E, OBS_SIZE]
layout(std430, set = 0, binding = 10) writeonly buffer Action { float action_out[]; }; // [T, P, E, A]: discrete: A = 1, the index; continuous: the raw sample
layout(std430, set = 0, binding = 11) writeonly buffer LogProb { float log_prob_out[]; }; // [T, P, E]
layout(std430, set = 0, binding = 12) writeonly buffer Reward { float reward_out[]; };    // [T, P, E]
layout(std430, set = 0, binding = 13) writeonly buffer Done { uint done_out[]; };         // [T, P, E]: DONE_* flags
layout(std430, set = 0, binding = 14) writeonly buffer NextObs { float next_obs_out[]; }; // [T, P, E, OBS_SIZE]: before any reset
layout(set = 0, binding = 15, rgba32f) readonly uniform imageBuffer params_texels; // Params again

layout(push_constant) uniform Push {
    uint population;
    uint environments; // of a member
    uint steps;        // of this dispatch
    uint first;        // index on the time axis of this dispatch's first step
    uint begin;        // 1: first begin new episodes, else go on from the state
    uint row;          // floats of a member's parameters, a multiple of four
    uint log_std;      // offset of the log standard deviations in the row
    uint seed;
    uint env_stream;   // of the environments' random numbers
    uint action_stream; // of the policy's
    float obs_limit;   // normalized observations are clipped to +- this
    uint params_period; // members m and m + k * params_period share parameters; population when none do
    uint draw_window;   // random numbers are those of member m / draw_window * draw_stride + (m % draw_window + draw_first) * draw_step
    uint draw_stride;
    uint draw_first;
    uint draw_step;
    uint normalizer_share; // so many members, one after the other, share a normalizer
    uint stream_layers;    // hidden layers of a streamed network
    uint stream_hidden[8]; // and their units
};

#include "engine/nn/network.glsl"
#include "engine/nn/distribution.glsl"

void main() {
    uint chunks = (environments + LANES - 1u) / LANES;
    uint member = gl_WorkGroupID.x / chunks;
    uint first_environment = (gl_WorkGroupID.x % chunks) * LANES;
    uint environment = first_environment + LANE;
    uint present = min(LANES, environments - first_environment); // lanes that have an environment
    bool mine = LANE < present;
    uint at = member * environments + environment; // in [P, E]
    uint all = population * environments;
    uint owner = member % params_period;
    uint drawer = member / draw_window * draw_stride + (member % draw_window + draw_first) * draw_step;

    float deviation[OUT], middle[OUT], half_range[OUT];
    if (POLICY == POLICY_NETWORK) network_load(owner * row);
#if !DISCRETE
    [[unroll]] for (uint o = 0u; o < OUT; o++) {
        deviation[o] = POLICY == POLICY_NETWORK ? params[owner * row + log_std + o] : 0.0;
        middle[o] = action_scale[o];
        half_range[o] = action_scale[OUT + o];
    }
#endif
    float mean[IN], rstd[IN];
    if (NORMALIZE != 0u) {
        [[unroll]] for (uint k = 0u; k < IN; k++) {
            mean[k] = normalizer[owner / normalizer_share * 2u * IN + k];
            rstd[k] = normalizer[owner / normalizer_share * 2u * IN + IN + k];
        }
    }

    float s[STATE_SIZE], obs[OBS_SIZE];
    Episode ep;
    uint time = clock[1] + first;
    if (begin != 0u) {
        Rng rng = rng_new(seed, env_stream, drawer, environment, time);
        episode_begin(s, ep, rng, obs);
    } else if (mine) {
        [[unroll]] for (uint f = 0u; f < STATE_SIZE; f++) s[f] = env_state[f * all + at];
        ep = episode_unpack(episode_step[at], episode_return[at]);
        env_observe(s, obs);
    } else {
        [[unroll]] for (uint f = 0u; f < STATE_SIZE; f++) s[f] = 0.0;
        ep = Episode(0u, 0.0, 0u);
        env_observe(s, obs);
    }

    float ended = 0.0, returns = 0.0, lengths = 0.0;
    [[dont_unroll]] for (uint t = 0u; t < steps; t++) {
        if (AUTO_RESET == AUTO_RESET_DISABLED && TRAJECTORY == 0u) {
            if (!subgroupAny(mine && ep.done == 0u)) break; // every episode is over
        }
        float y[OUT];
        [[unroll]] for (uint o = 0u; o < OUT; o++) y[o] = 0.0;
        if (POLICY == POLICY_NETWORK) {
            float x[IN];
            [[unroll]] for (uint k = 0u; k < IN; k++) {
                x[k] = NORMALIZE != 0u ? clamp((obs[k] - mean[k]) * rstd[k], -obs_limit, obs_limit) : obs[k];
            }
            network_forward(x, present, y);
        }
        bool broken = false; // environments clip their actions: without this, a network of NaN would pass for one that acts
        [[unroll]] for (uint o = 0u; o < OUT; o++) broken = broken || isnan(y[o]) || isinf(y[o]);

        float log_prob = 0.0;
        Rng rng = rng_new(seed, action_stream, drawer, environment, time + t);
#if DISCRETE
        uint action;
        float norm = logits_norm(y); // without a network all logits are zero: the uniform distribution
        if (MODE != 0u) {
            action = logits_mode(y);
        } else {
            action = logits_sample(y, norm, rng_uniform(rng));
        }
        log_prob = logits_at(y, action) - norm;
#else
        float raw[OUT], action[ACTION_SIZE];
        [[unroll]] for (uint o = 0u; o < OUT; o++) {
            if (POLICY == POLICY_RANDOM) {
                raw[o] = rng_uniform(rng, -1.0, 1.0);
                action[o] = middle[o] + half_range[o] * raw[o];
                continue;
            }
            raw[o] = MODE != 0u ? y[o] : y[o] + m_exp(deviation[o]) * rng_normal(rng);
            log_prob += gauss_log_prob(raw[o], y[o], deviation[o]);
            action[o] = middle[o] + half_range[o] * (SQUASH != 0u ? m_tanh(raw[o]) : raw[o]);
        }
#endif
        float reward;
        uint done;
        float before[OBS_SIZE], next_obs[OBS_SIZE];
        before = obs;
        Rng env_rng = rng_new(seed, env_stream, drawer, environment, time + t + 1u);
        episode_advance(s, ep, action, env_rng, reward, done, next_obs, obs);
        if (broken && (done & DONE_VOID) == 0u) ep.ret = M_NAN;
        if ((done & DONE_VOID) == 0u && done != 0u) {
            ended += 1.0;
            returns += ep.ret;
            lengths += float(ep.step);
        }
        if (TRAJECTORY != 0u && mine) {
            uint i = (first + t) * all + at; // in [T, P, E]
            [[unroll]] for (uint k = 0u; k < IN; k++) {
                obs_out[i * IN + k] = before[k];
                next_obs_out[i * IN + k] = next_obs[k];
            }
#if DISCRETE
            action_out[i] = float(action);
#else
            [[unroll]] for (uint o = 0u; o < OUT; o++) action_out[i * OUT + o] = raw[o];
#endif
            log_prob_out[i] = log_prob;
            reward_out[i] = reward;
            done_out[i] = done;
        }
    }

    if (mine) {
        [[unroll]] for (uint f = 0u; f < STATE_SIZE; f++) env_state[f * all + at] = s[f];
        episode_step[at] = episode_pack(ep);
        episode_return[at] = ep.ret;
        bool more = first != 0u;
        finished[at] = (more ? finished[at] : 0.0) + ended;
        finished[all + at] = (more ? finished[all + at] : 0.0) + returns;
        finished[2u * all + at] = (more ? finished[2u * all + at] : 0.0) + lengths;
    }
}
