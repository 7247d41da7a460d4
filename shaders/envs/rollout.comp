#version 450

// Steps of policy and environment. Fused, a dispatch is many steps; stepped, it is one, after other kernels have
// evaluated the network (POLICY_OUTPUTS). A workgroup is one subgroup; it has one
// member's network (engine/nn/network.glsl) and steps up to LANES of the member's environments, one per lane. At each
// step all lanes together evaluate the network for their environments, then each steps its own environment. If
// members have few environments and small networks, each lane has an environment and the network that acts in it, and
// evaluates it alone (NETWORK_OWN). If a network does not fit a subgroup, a workgroup may consist of several that
// hold it together (NETWORK_GROUP); all but the first only help to evaluate it and have no environments.
//
// A subgroup has at most SUBGROUP_ENVIRONMENTS environments: LANES or, if its lanes compute each one together
// (ENV_TOGETHER), fewer, and the other lanes help.
//
// Groups: x = members * ceil(environments / SUBGROUP_ENVIRONMENTS) or, with NETWORK_OWN, ceil(members * environments
// / SUBGROUP_ENVIRONMENTS).

#extension GL_KHR_shader_subgroup_vote : require

layout(local_size_x = 8, local_size_x_id = 6) in;
layout(constant_id = 6) const uint WORKGROUP = 8; // LANES; for NETWORK_GROUP a multiple
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 28) const uint SUBGROUP_ENVIRONMENTS = 8; // environments per subgroup

layout(std430, set = 0, binding = 18) readonly buffer Tables { uint tables[]; }; // of the model, for ENV_TOGETHER; optional

#include "envs/options.glsl"
#include "ENVIRONMENT"
#include "envs/wrapper.glsl"

const uint IN = OBS_SIZE;
layout(constant_id = 25) const uint OUT = 1;    // outputs of the network, as the head requires

layout(constant_id = 20) const uint POLICY = 0;     // one of the following
const uint POLICY_NETWORK = 0u;
const uint POLICY_RANDOM = 1u;                      // uniform over the action space
const uint POLICY_OUTPUTS = 2u;                     // a network evaluated by another kernel, for one step
layout(constant_id = 21) const bool TRAJECTORY = false; // write every transition
layout(constant_id = 22) const bool HAS_NORMALIZER = false;  // observations are normalized
layout(constant_id = 23) const bool APPLIED = false;    // trajectories store applied actions with their log-probabilities; else sampled ones
layout(constant_id = 24) const bool MODE = false;       // the most likely action, without exploration, instead of a sample
layout(constant_id = 26) const bool HAS_CAP = false;     // episodes are truncated at `cap` steps
layout(constant_id = 27) const bool HAS_SEEN = false; // sum the observations
layout(constant_id = 30) const bool HAS_OBSERVED = false; // write the observations to act on next
layout(constant_id = 29) const bool HAS_SKIP = false; // some members take no steps; only with AUTO_RESET_DISABLED

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };     // [M, row]; optional
layout(std430, set = 0, binding = 1) readonly buffer Params4 { vec4 params4[]; };    // the same
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; }; // [M, 2, OBS_SIZE]: mean, 1 / std
layout(std430, set = 0, binding = 3) readonly buffer ActionScale { float action_scale[]; }; // [2, ACTION_SIZE]: middle, half range
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };        // [1]: environment steps per environment so far
layout(std430, set = 0, binding = 5) buffer EnvState { float env_state[]; };         // [STATE_SIZE, M, E]
layout(std430, set = 0, binding = 6) buffer EpisodeStep { uint episode_step[]; };    // [M, E]
layout(std430, set = 0, binding = 7) buffer EpisodeReturn { float episode_return[]; }; // [M, E]
// [4, M, E]: episodes ended, their returns, their lengths, how many diverged; summed from first = 0 on.
layout(std430, set = 0, binding = 8) buffer Finished { float finished[]; };
layout(std430, set = 0, binding = 9) writeonly buffer Obs { float obs_out[]; };      // [T, M, E, OBS_SIZE]; optional
layout(std430, set = 0, binding = 10) writeonly buffer Action { float action_out[]; }; // [T, M, E, DIMS]: as sampled or as applied; optional
layout(std430, set = 0, binding = 11) writeonly buffer LogProb { float log_prob_out[]; }; // [T, M, E]: of the action in that form; optional
layout(std430, set = 0, binding = 12) writeonly buffer Reward { float reward_out[]; };    // [T, M, E]; optional
layout(std430, set = 0, binding = 13) writeonly buffer Done { uint done_out[]; };         // [T, M, E]: DONE_* flags; optional
layout(std430, set = 0, binding = 14) writeonly buffer NextObs { float next_obs_out[]; }; // [T, M, E, OBS_SIZE]: before any reset; optional
layout(set = 0, binding = 15, rgba32f) readonly uniform imageBuffer params_texels;

layout(std430, set = 0, binding = 16) readonly buffer Cap { uint cap[]; };        // [M / share]: steps; 0: none
// [1 + 2 OBS_SIZE, M, E]: number of observations acted on, sums of their deviations from the normalizer's mean, and
// of the squared deviations; from first = 0 on.
layout(std430, set = 0, binding = 17) buffer Seen { float seen[]; };
layout(std430, set = 0, binding = 19) readonly buffer Noise { float noise[]; };    // [M]: of the head's exploration; optional
layout(std430, set = 0, binding = 20) readonly buffer Skip { uint skip[]; };       // [M]: not 0: the member takes no step

layout(std430, set = 0, binding = 21) readonly buffer Outputs { float outputs[]; };   // [M, E, OUT]: for POLICY_OUTPUTS; optional
layout(std430, set = 0, binding = 22) writeonly buffer Observed { float observed[]; }; // [M, E, OBS_SIZE]

layout(push_constant) uniform Push {
    uint members;
    uint environments; // per member
    uint steps;        // in this dispatch
    uint first;        // index on the time axis of this dispatch's first step
    bool begin;        // begin new episodes first, else continue from the state
    uint row;          // floats of a member's parameters, a multiple of four
    uint head_base;       // offset of the head's parameters in the row
    uint seed;
    uint env_stream;   // of the environments' random numbers
    uint action_stream; // of the policy's
    float obs_limit;   // normalized observations are clipped to +- this
    uint params_period; // members m and m + k * params_period share parameters; the number of members if none do
    uint draw_window;   // random numbers as of member m / draw_window * draw_stride + (m % draw_window + draw_first) * draw_step
    uint draw_stride;
    uint draw_first;
    uint draw_step;
    uint share;       // number of consecutive members that share a normalizer and a cap
    uint stream_layers;    // hidden layers of a streamed network
    uint stream_hidden[8]; // and their units
};

#define MLP_LOOP
#include "engine/finite.glsl"
#include "engine/nn/network.glsl"
#include "engine/nn/head.glsl"

// Software drivers hold the normalizer in registers, which are memory. GPUs load it at every step, through their caches: RADV (Mesa 22.3) runs
// out of memory over arrays of as many floats as the features of Ant-v5 that are the same in all lanes.
const bool HOLDS_MOMENTS = TEXEL_LOADS == 2u;
#define MEAN(k) (HOLDS_MOMENTS ? mean[k] : normalizer[moments + (k)])
#define RSTD(k) (HOLDS_MOMENTS ? rstd[k] : normalizer[moments + IN + (k)])

void main() {
    unroll_apart();
    uint member, environment, present; // lanes that have an environment
    uint all = members * environments;
    if (NETWORK == NETWORK_OWN) {
        uint flat_index = gl_WorkGroupID.x * SUBGROUP_ENVIRONMENTS + LANE;
        present = min(SUBGROUP_ENVIRONMENTS, all - gl_WorkGroupID.x * SUBGROUP_ENVIRONMENTS);
        member = min(flat_index, all - 1u) / environments;
        environment = min(flat_index, all - 1u) % environments;
    } else {
        uint chunks = (environments + SUBGROUP_ENVIRONMENTS - 1u) / SUBGROUP_ENVIRONMENTS;
        uint first_environment = (gl_WorkGroupID.x % chunks) * SUBGROUP_ENVIRONMENTS;
        member = gl_WorkGroupID.x / chunks;
        environment = first_environment + network_lane();
        present = min(SUBGROUP_ENVIRONMENTS, environments - first_environment);
    }
    bool mine = network_lane() < present;
    bool helps = NETWORK == NETWORK_GROUP && gl_SubgroupID != 0u;
#ifdef ENV_TOGETHER
    env_idle = !mine;
    env_load();
#endif
    uint at = member * environments + environment; // index in [M, E]
    uint owner = member % params_period;
    uint drawer = member / draw_window * draw_stride + (member % draw_window + draw_first) * draw_step;

    if (POLICY == POLICY_NETWORK) network_load(owner * row);
    float log_std[DIMS];
    UNROLL for (uint o = 0u; o < DIMS; o++) {
        log_std[o] = POLICY != POLICY_RANDOM && LOG_STD_PARAMETERS && (TRAJECTORY || !MODE) ? params[owner * row + head_base + o] : 0.0;
    }
    float exploration = EXPLORE ? noise[owner] : 0.0;
#if !DISCRETE
    float middle[ACTION_SIZE], half_range[ACTION_SIZE];
    UNROLL for (uint o = 0u; o < ACTION_SIZE; o++) {
        middle[o] = action_scale[o];
        half_range[o] = action_scale[ACTION_SIZE + o];
    }
#endif
    float mean[IN], rstd[IN];
    uint moments = owner / share * 2u * IN;
    if (HAS_NORMALIZER && HOLDS_MOMENTS) {
        TRANSFER_LOAD(mean, k, IN, normalizer[moments + k])
        TRANSFER_LOAD(rstd, k, IN, normalizer[moments + IN + k])
    }

    float s[STATE_SIZE], obs[OBS_SIZE];
    Episode ep;
    uint time = clock[1] + first;
    if (begin) {
        Rng rng = rng_new(seed, env_stream, drawer, environment, time);
        episode_begin(s, ep, rng, obs);
    } else if (mine) {
        TRANSFER_LOAD(s, f, STATE_SIZE, env_state[f * all + at])
        ep = episode_unpack(episode_step[at], episode_return[at]);
        env_observe(s, obs);
    } else {
        UNROLL for (uint f = 0u; f < STATE_SIZE; f++) s[f] = 0.0;
        ep = Episode(0u, 0.0, 0u);
        env_observe(s, obs);
    }
    if (HAS_SKIP && begin && skip[member] != 0u) ep.done = DONE_TRUNCATED; // its steps come after the end: all are void

    float ended = 0.0, returns = 0.0, lengths = 0.0, diverged = 0.0;
    float count = 0.0, sum[IN], square[IN];
    UNROLL for (uint k = 0u; k < IN; k++) sum[k] = square[k] = 0.0;
    uint last = HAS_CAP ? cap[member / share] : 0u; // 0: not yet known
    [[dont_unroll]] for (uint t = 0u; t < steps; t++) {
        if (AUTO_RESET == AUTO_RESET_DISABLED) {
            if (!network_any(mine && ep.done == 0u)) { // every episode is over
                if (TRAJECTORY && mine) { // of the remaining steps only the flags are written
                    [[dont_unroll]] for (; t < steps; t++) done_out[(first + t) * all + at] = ep.done | DONE_VOID;
                }
                break;
            }
        }
        float y[OUT];
        UNROLL for (uint o = 0u; o < OUT; o++) y[o] = 0.0;
        if (POLICY == POLICY_NETWORK) {
            float x[IN];
            UNROLL for (uint k = 0u; k < IN; k++) {
                x[k] = HAS_NORMALIZER ? clamp((obs[k] - MEAN(k)) * RSTD(k), -obs_limit, obs_limit) : obs[k];
            }
            network_forward(x, present, y);
        }
        if (POLICY == POLICY_OUTPUTS) {
            UNROLL for (uint o = 0u; o < OUT; o++) y[o] = outputs[(mine ? at : 0u) * OUT + o];
        }
        if (helps) continue;
        if (HAS_SEEN && (ep.done == 0u || AUTO_RESET != AUTO_RESET_DISABLED)) {
            count += 1.0;
            UNROLL for (uint k = 0u; k < IN; k++) {
                float d = obs[k] - (HAS_NORMALIZER ? MEAN(k) : 0.0);
                sum[k] += d;
                square[k] += d * d;
            }
        }
        bool broken = false; // environments clip their actions, so NaN outputs of a network would otherwise go unnoticed
        UNROLL for (uint o = 0u; o < OUT; o++) broken = broken || !m_isfinite(y[o]);

        float log_prob = 0.0, kept[DIMS]; // of the action, in the form that trajectories store
        Rng rng = rng_new(seed, action_stream, drawer, environment, time + t);
#if DISCRETE
        HeadAction a = head_act(y, 0u, 0.0, exploration, MODE, rng); // without a network all logits are zero: the uniform distribution
        uint action = uint(a.applied);
        kept[0] = a.applied;
        log_prob = a.log_prob;
#else
        float action[ACTION_SIZE];
        UNROLL for (uint o = 0u; o < ACTION_SIZE; o++) {
            if (POLICY == POLICY_RANDOM) {
                kept[o] = rng_uniform(rng, -1.0, 1.0);
                action[o] = middle[o] + half_range[o] * kept[o];
                continue;
            }
            HeadAction a = head_act(y, o, head_log_std(y, o, log_std[o]), exploration, MODE, rng);
            kept[o] = APPLIED ? a.applied : a.sampled;
            log_prob += a.log_prob;
            if (APPLIED) log_prob -= head_correction(a.sampled);
            action[o] = middle[o] + half_range[o] * a.applied;
        }
#endif
        float reward;
        uint done;
        float before[OBS_SIZE], next_obs[OBS_SIZE];
        before = obs;
        Rng env_rng = rng_new(seed, env_stream, drawer, environment, time + t + 1u);
        episode_advance(s, ep, action, env_rng, reward, done, next_obs, obs);
        if (HAS_CAP && last != 0u && done == 0u && ep.step >= last) done = ep.done = DONE_TRUNCATED;
        if (broken && (done & DONE_VOID) == 0u) ep.ret = M_NAN;
        if ((done & DONE_VOID) == 0u && done != 0u) {
            ended += 1.0;
            returns += ep.ret;
            lengths += float(ep.step);
            if ((done & DONE_DIVERGED) != 0u) diverged += 1.0;
        }
        if (TRAJECTORY && mine) {
            uint i = (first + t) * all + at; // index in [T, M, E]
            TRANSFER_STORE(k, IN, before[k], obs_out[i * IN + k] = carried)
            TRANSFER_STORE(k, IN, next_obs[k], next_obs_out[i * IN + k] = carried)
            UNROLL for (uint o = 0u; o < DIMS; o++) action_out[i * DIMS + o] = kept[o];
            log_prob_out[i] = log_prob;
            reward_out[i] = reward;
            done_out[i] = done;
        }
    }

    if (mine) {
        TRANSFER_STORE(f, STATE_SIZE, s[f], env_state[f * all + at] = carried)
        episode_step[at] = episode_pack(ep);
        episode_return[at] = ep.ret;
        if (HAS_OBSERVED) TRANSFER_STORE(k, IN, obs[k], observed[at * IN + k] = carried)
        bool more = first != 0u;
        finished[at] = (more ? finished[at] : 0.0) + ended;
        finished[all + at] = (more ? finished[all + at] : 0.0) + returns;
        finished[2u * all + at] = (more ? finished[2u * all + at] : 0.0) + lengths;
        finished[3u * all + at] = (more ? finished[3u * all + at] : 0.0) + diverged;
        if (HAS_SEEN) {
            bool finite = true; // a diverged environment does not contribute
            UNROLL for (uint k = 0u; k < IN; k++) finite = finite && m_isfinite(square[k]);
            seen[at] = (more ? seen[at] : 0.0) + (finite ? count : 0.0);
            TRANSFER_STORE(k, IN, sum[k], seen[(1u + k) * all + at] = (more ? seen[(1u + k) * all + at] : 0.0) + (finite ? carried : 0.0))
            TRANSFER_STORE(k, IN, square[k], seen[(1u + IN + k) * all + at] = (more ? seen[(1u + IN + k) * all + at] : 0.0) + (finite ? carried : 0.0))
        }
    }
}
