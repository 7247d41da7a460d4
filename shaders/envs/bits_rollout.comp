#version 450

// Steps of environments whose observations are bits: one step with actions from the outputs of a network that other kernels have evaluated, or
// with given actions; any number of steps with random actions; or none, which only begins episodes, or observes. An
// invocation has an environment. Observations of environments that paint them (ENV_WORD) are left to envs/paint.comp, which is given the states.
//
// Groups: x = ceil(members * environments / local size).

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 6) in;

#include "envs/options.glsl"
#include "ENVIRONMENT"
#include "envs/bits.glsl"

layout(constant_id = 25) const uint OUT = 1;            // outputs of the network, as the head requires
layout(constant_id = 20) const uint POLICY = 0;         // one of the following
const uint POLICY_OUTPUTS = 0u;
const uint POLICY_RANDOM = 1u;                          // uniform over the actions
const uint POLICY_GIVEN = 2u;                           // the host's; it also gives the seed, in the clock
layout(constant_id = 21) const bool PACKED = false;     // trajectories have words of bits; else floats
layout(constant_id = 22) const bool HAS_NORMALIZER = false; // sums of observations are of deviations from its mean
layout(constant_id = 23) const bool OBSERVED_PACKED = false; // as PACKED, of what is acted on next
layout(constant_id = 24) const bool MODE = false;       // the most likely action, without exploration, instead of a sample
layout(constant_id = 26) const bool HAS_CAP = false;    // episodes are truncated at `cap` steps
layout(constant_id = 27) const bool HAS_SEEN = false;   // sum the observations
layout(constant_id = 28) const bool HAS_NEXT_OBS = false; // write next observation, reward and flags of every transition
layout(constant_id = 29) const bool HAS_SKIP = false;   // some members take no steps; only with AUTO_RESET_DISABLED
layout(constant_id = 32) const bool HAS_OBS = false;    // write observation, action and log-probability of every transition
layout(constant_id = 33) const bool HAS_OBSERVED = false; // write what is acted on next
layout(constant_id = 34) const bool HAS_FINISHED = false;

layout(std430, set = 0, binding = 0) readonly buffer Outputs { float outputs[]; };       // [M, E, OUT]; optional
layout(std430, set = 0, binding = 1) readonly buffer Given { uint given[]; };            // [M, E]: actions; optional
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; }; // [M / share, 2, OBS_SIZE]: mean, 1 / std
layout(std430, set = 0, binding = 3) readonly buffer Noise { float noise[]; };           // [M]: of the head's exploration; optional
layout(std430, set = 0, binding = 4) readonly buffer Clock { uint clock[]; };            // [1]: environment steps per environment so far
layout(std430, set = 0, binding = 5) buffer EnvState { float env_state[]; };             // [STATE_SIZE, M, E]
layout(std430, set = 0, binding = 6) buffer EpisodeStep { uint episode_step[]; };        // [M, E]
layout(std430, set = 0, binding = 7) buffer EpisodeReturn { float episode_return[]; };   // [M, E]
layout(std430, set = 0, binding = 8) writeonly buffer Observed { uint observed[]; };     // [M, E, OBS_WORDS or OBS_SIZE]
// [4, M, E]: episodes ended, their returns, their lengths, how many diverged; summed from first = 0 on.
layout(std430, set = 0, binding = 9) buffer Finished { float finished[]; };
// [1 + 2 OBS_SIZE, M, E]: number of observations acted on, sums of their deviations from the normalizer's mean, and
// of the squared deviations; from first = 0 on.
layout(std430, set = 0, binding = 10) buffer Seen { float seen[]; };
layout(std430, set = 0, binding = 11) readonly buffer Cap { uint cap[]; };               // [M / share]: steps; 0: none
layout(std430, set = 0, binding = 12) readonly buffer Skip { uint skip[]; };             // [M]: not 0: the member takes no step
layout(std430, set = 0, binding = 13) writeonly buffer Obs { uint obs_out[]; };          // [T, M, E, OBS_WORDS or OBS_SIZE]
layout(std430, set = 0, binding = 14) writeonly buffer Action { float action_out[]; };   // [T, M, E]; optional
layout(std430, set = 0, binding = 15) writeonly buffer LogProb { float log_prob_out[]; }; // [T, M, E]; optional
layout(std430, set = 0, binding = 16) writeonly buffer Reward { float reward_out[]; };   // [T, M, E]; optional
layout(std430, set = 0, binding = 17) writeonly buffer Done { uint done_out[]; };        // [T, M, E]: DONE_* flags; optional
layout(std430, set = 0, binding = 18) writeonly buffer NextObs { uint next_obs_out[]; }; // as Obs, before any reset; ENV_WORD: a state

layout(push_constant) uniform Push {
    uint members;
    uint environments;  // per member
    uint steps;
    uint first;         // index on the time axis of the first step
    bool begin;         // begin new episodes first, else continue from the state
    uint seed;
    uint env_stream;    // of the environments' random numbers
    uint action_stream; // of the policy's
    uint params_period; // members m and m + k * params_period share parameters; the number of members if none do
    uint draw_window;   // random numbers as of member m / draw_window * draw_stride + (m % draw_window + draw_first) * draw_step
    uint draw_stride;
    uint draw_first;
    uint draw_step;
    uint share;         // number of consecutive members that share a normalizer and a cap
};

#include "engine/finite.glsl"
#include "engine/nn/head.glsl"

// For each word w of an observation: `body`, a statement that uses w and `word`. A loop takes `each` words per iteration through a moving queue:
// drivers compile few stores faster than many, and words with variable indices would be kept in memory.
#define BITS_EACH(bits, w, each, body)                                                                         \
    {                                                                                                          \
        const uint bits_size = (OBS_WORDS + each - 1u) / each * each;                                          \
        uint bits_queue[bits_size];                                                                            \
        [[unroll]] for (uint bits_i = 0u; bits_i < bits_size; bits_i++) bits_queue[bits_i] = bits[min(bits_i, OBS_WORDS - 1u)]; \
        [[dont_unroll]] for (uint bits_turn = 0u; bits_turn < bits_size; bits_turn += each) {                  \
            [[unroll]] for (uint bits_i = 0u; bits_i < each; bits_i++) {                                       \
                uint w = bits_turn + bits_i;                                                                   \
                uint word = bits_queue[bits_i];                                                                \
                if (w < OBS_WORDS) { body }                                                                    \
            }                                                                                                  \
            [[unroll]] for (uint bits_i = 0u; bits_i < bits_size - each; bits_i++) bits_queue[bits_i] = bits_queue[bits_i + each]; \
        }                                                                                                      \
    }

// For each feature k of an observation: `body`, a statement that uses k and `bit`, 0 or 1.
#define BITS_EACH_FEATURE(bits, k, body)                                                                       \
    BITS_EACH(bits, w, 1u, [[dont_unroll]] for (uint k = w * 32u; k < min(w * 32u + 32u, OBS_SIZE); k++, word >>= 1u) { \
        uint bit = word & 1u;                                                                                  \
        body                                                                                                   \
    })

#ifdef ENV_WORD
#define BITS_STORE(packed, bits, to, i)
#else
// Writes observation i as words, or its bits as floats.
#define BITS_STORE(packed, bits, to, i)                                                                        \
    if (packed) {                                                                                              \
        BITS_EACH(bits, w, 4u, to[(i) * OBS_WORDS + w] = word;)                                                \
    } else {                                                                                                   \
        BITS_EACH_FEATURE(bits, k, to[(i) * OBS_SIZE + k] = bit * 0x3F800000u; /* the bits of 1.0 */)          \
    }
#endif

void main() {
    unroll_apart();
    uint at = gl_GlobalInvocationID.x, all = members * environments; // at: index in [M, E]
    if (at >= all) return;
    uint member = at / environments, environment = at % environments, owner = member % params_period;
    uint drawer = member / draw_window * draw_stride + (member % draw_window + draw_first) * draw_step;
    bool hosts = POLICY == POLICY_GIVEN;
    uint source = hosts ? clock[0] : seed;
    uint time = hosts ? clock[1] - 1u : clock[1] + first; // the host counts from 1, and 0 is a reset

    float s[STATE_SIZE];
    OBSERVATION obs;
    Episode ep = Episode(0u, 0.0, 0u);
    if (begin) {
        [[unroll]] for (uint f = 0u; f < STATE_SIZE; f++) s[f] = 0.0;
        Rng rng = rng_new(source, env_stream, drawer, environment, hosts ? 0u : time);
        env_reset(s, rng);
    } else {
        TRANSFER_LOAD(s, f, STATE_SIZE, env_state[f * all + at])
        ep = episode_unpack(episode_step[at], episode_return[at]);
    }
    OBSERVE(s, obs);
    if (HAS_SKIP && begin && skip[member] != 0u) ep.done = DONE_TRUNCATED; // its steps come after the end: all are void

    float exploration = EXPLORE ? noise[owner] : 0.0;
    float ended = 0.0, returns = 0.0, lengths = 0.0, diverged = 0.0;
    uint last = HAS_CAP ? cap[member / share] : 0u; // 0: not yet known
    [[dont_unroll]] for (uint t = 0u; t < steps; t++) {
        uint i = (first + t) * all + at; // index in [T, M, E]
        if (AUTO_RESET == AUTO_RESET_DISABLED && ep.done != 0u) { // of a step after the end only the flags are written
            if (HAS_NEXT_OBS) done_out[i] = ep.done | DONE_VOID;
#ifndef ENV_WORD
            if (HAS_SEEN && first + t == 0u) {
                [[dont_unroll]] for (uint k = 0u; k < 1u + 2u * OBS_SIZE; k++) seen[k * all + at] = 0.0;
            }
#endif
            continue;
        }
        float y[OUT];
        bool broken = false; // NaN outputs of a network would otherwise go unnoticed
        UNROLL for (uint o = 0u; o < OUT; o++) {
            y[o] = POLICY == POLICY_OUTPUTS ? outputs[at * OUT + o] : 0.0; // without a network all logits are zero: the uniform distribution
            broken = broken || !m_isfinite(y[o]);
        }
#ifndef ENV_WORD
        if (HAS_SEEN) {
            bool more = first + t != 0u;
            seen[at] = (more ? seen[at] : 0.0) + 1.0;
            BITS_EACH_FEATURE(obs, k,
                float d = float(bit) - (HAS_NORMALIZER ? normalizer[owner / share * 2u * OBS_SIZE + k] : 0.0);
                uint sum = (1u + k) * all + at;
                uint square = (1u + OBS_SIZE + k) * all + at;
                seen[sum] = (more ? seen[sum] : 0.0) + d;
                seen[square] = (more ? seen[square] : 0.0) + d * d;
            )
        }
#endif
        uint action;
        if (POLICY == POLICY_GIVEN) {
            action = given[at];
        } else {
            Rng rng = rng_new(source, action_stream, drawer, environment, time + t);
            HeadAction a = head_act(y, 0u, 0.0, exploration, MODE, rng);
            action = uint(a.applied);
            if (HAS_OBS) {
                action_out[i] = a.applied;
                log_prob_out[i] = a.log_prob;
            }
        }
        if (HAS_OBS) {
            BITS_STORE(PACKED, obs, obs_out, i)
        }
        float reward;
        uint done;
        OBSERVATION next_obs;
        Rng rng = rng_new(source, env_stream, drawer, environment, time + t + 1u);
        episode_advance(s, ep, action, rng, reward, done, next_obs, obs);
        if (HAS_CAP && last != 0u && done == 0u && ep.step >= last) done = ep.done = DONE_TRUNCATED;
        if (broken) ep.ret = M_NAN;
        if (done != 0u) {
            ended += 1.0;
            returns += ep.ret;
            lengths += float(ep.step);
            if ((done & DONE_DIVERGED) != 0u) diverged += 1.0;
        }
        if (HAS_NEXT_OBS) {
            BITS_STORE(PACKED, next_obs, next_obs_out, i)
#ifdef ENV_WORD
            TRANSFER_STORE(f, STATE_SIZE, next_obs[f], next_obs_out[f * all + at] = floatBitsToUint(carried))
#endif
            reward_out[i] = reward;
            done_out[i] = done;
        }
    }

    TRANSFER_STORE(f, STATE_SIZE, s[f], env_state[f * all + at] = carried)
    episode_step[at] = episode_pack(ep);
    episode_return[at] = ep.ret;
    if (HAS_OBSERVED) {
        BITS_STORE(OBSERVED_PACKED, obs, observed, at)
    }
    if (HAS_FINISHED) {
        bool more = first != 0u;
        finished[at] = (more ? finished[at] : 0.0) + ended;
        finished[all + at] = (more ? finished[all + at] : 0.0) + returns;
        finished[2u * all + at] = (more ? finished[2u * all + at] : 0.0) + lengths;
        finished[3u * all + at] = (more ? finished[3u * all + at] : 0.0) + diverged;
    }
}
