#version 450

// Steps of environments and of the networks of low rank that act in them, many in one dispatch (engine/nn/low_rank_network.glsl). A workgroup is one
// subgroup. It has LOW_ROWS rows of one member, a row being an environment of one of its candidates, and takes all of them through all steps: their
// activations stay in its memory, their environments in its lanes, LOW_GROUPS each. Episodes are not reset. What is stored, and which random numbers are
// drawn, is as in rollout.comp.
//
// Groups: x = searches * ceil(rows of a search / LOW_ROWS).

#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_vote : require

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8; // the subgroup size

#include "envs/options.glsl"
#include "ENVIRONMENT"
#include "envs/wrapper.glsl"

const uint IN = OBS_SIZE;
layout(constant_id = 25) const uint OUT = 1;    // outputs of the network, as the head requires

layout(constant_id = 22) const bool HAS_NORMALIZER = false; // observations are normalized
layout(constant_id = 24) const bool MODE = false;       // the most likely action, without exploration, instead of a sample
layout(constant_id = 26) const bool HAS_CAP = false;    // episodes are truncated at `cap` steps
layout(constant_id = 27) const bool HAS_SEEN = false;   // sum the observations

layout(std430, set = 0, binding = 0) readonly buffer Normalizer { float normalizer[]; };   // [searches, 2, OBS_SIZE]: mean, 1 / std
layout(std430, set = 0, binding = 1) readonly buffer ActionScale { float action_scale[]; }; // [2, ACTION_SIZE]: middle, half range
layout(std430, set = 0, binding = 2) readonly buffer Clock { uint clock[]; };              // [1]: environment steps per environment so far
layout(std430, set = 0, binding = 3) buffer EnvState { float env_state[]; };               // [STATE_SIZE, M, E]
layout(std430, set = 0, binding = 4) buffer EpisodeStep { uint episode_step[]; };          // [M, E]
layout(std430, set = 0, binding = 5) buffer EpisodeReturn { float episode_return[]; };     // [M, E]
// [4, M, E]: episodes ended, their returns, their lengths, how many diverged; summed from first = 0 on.
layout(std430, set = 0, binding = 6) buffer Finished { float finished[]; };
layout(std430, set = 0, binding = 7) readonly buffer Cap { uint cap[]; };                  // [searches]: steps; 0: none
// [1 + 2 OBS_SIZE, M, E]: number of observations acted on, sums of their deviations from the normalizer's mean, and
// of the squared deviations; from first = 0 on.
layout(std430, set = 0, binding = 8) buffer Seen { float seen[]; };

layout(push_constant) uniform Push {
    uint members;       // candidates of all searches
    uint steps;         // in this dispatch
    uint first;         // index on the time axis of this dispatch's first step
    bool begin;         // begin new episodes first, else continue from the state
    uint seed;
    uint env_stream;    // of the environments' random numbers
    uint action_stream; // of the policy's
    float obs_limit;    // normalized observations are clipped to +- this
    uint draw_window;   // random numbers as of member m / draw_window * draw_stride + (m % draw_window + draw_first) * draw_step
    uint draw_stride;
    uint draw_first;
    uint draw_step;
    uint share;         // candidates of a search
    uint head_base;     // where the head's parameters are among a candidate's vectors
    uint row;           // floats of a search's shared parameters
    uint component;     // floats of a component of a draw
    uint left;          // of them of all A's
    uint vector;        // floats of a candidate's vectors
    uint draws;         // of a search
    uint candidate;     // index of the first candidate in its population
    uint layers;        // hidden layers
    uint hidden[8];     // and their units
} low_push;

#include "engine/finite.glsl"
#include "engine/nn/low_rank_network.glsl"
#include "engine/nn/head.glsl"

// Software drivers hold the normalizer in registers; see rollout.comp.
const bool LOW_HOLDS_MOMENTS = LOW_PANELS && HAS_NORMALIZER;
const uint LOW_MOMENTS = LOW_HOLDS_MOMENTS ? IN : 1u;
#define MEAN(k) (LOW_HOLDS_MOMENTS ? low_mean[min(k, LOW_MOMENTS - 1u)] : normalizer[low_moments + (k)])
#define RSTD(k) (LOW_HOLDS_MOMENTS ? low_rstd[min(k, LOW_MOMENTS - 1u)] : normalizer[low_moments + IN + (k)])

const uint LOW_SUMS = HAS_SEEN ? IN : 1u;

// Moves the numbers of the lane's next group to the front of `all`, and `mine`, those of the present one, to the end. Arrays with variable indices
// would be kept in memory lane by lane.
#define LOW_TURN(all, mine, size)                                                                                     \
    UNROLL for (uint turn_i = 0u; turn_i < (LOW_GROUPS - 1u) * (size); turn_i++) all[turn_i] = all[turn_i + (size)];  \
    UNROLL_AT(1u) for (uint turn_i = 0u; turn_i < (size); turn_i++) all[(LOW_GROUPS - 1u) * (size) + turn_i] = mine[turn_i];
#define LOW_TURN_ONE(all, mine)                                                                                       \
    UNROLL for (uint turn_i = 0u; turn_i < LOW_GROUPS - 1u; turn_i++) all[turn_i] = all[turn_i + 1u];                 \
    all[LOW_GROUPS - 1u] = mine;

float low_mean[LOW_MOMENTS], low_rstd[LOW_MOMENTS], low_limit;
uint low_moments;

// Stores what the network is to see of a row's environment.
void low_store_inputs(const float obs[OBS_SIZE], uint row) {
    uint at = row * (LOW_RECORD / 4u);
    const uint fours = (IN + 3u) / 4u * 4u;
    float x[fours];
    UNROLL for (uint k = 0u; k < fours; k++) {
        float v = obs[min(k, IN - 1u)];
        if (HAS_NORMALIZER) v = clamp((v - MEAN(min(k, IN - 1u))) * RSTD(min(k, IN - 1u)), -low_limit, low_limit);
        x[k] = v;
    }
    if (row >= LOW_ROWS) return;
    if (fours <= 64u) {
        UNROLL for (uint k = 0u; k < fours; k += 4u) low_store(at + k / 4u, vec4(x[k], x[k + 1u], x[k + 2u], x[k + 3u]));
    } else {
        [[dont_unroll]] for (uint k = 0u; k < fours; k += 4u) { // few stores are compiled faster than many
            low_store(at + k / 4u, vec4(x[0], x[1], x[2], x[3]));
            UNROLL for (uint i = 0u; i + 4u < fours; i++) x[i] = x[i + 4u];
        }
    }
}

void main() {
    unroll_apart();
    // Functions and loops read copies of push constants: software drivers read those lane by lane wherever a loop names them.
    uint steps = low_push.steps, share = low_push.share, seed = low_push.seed, env_stream = low_push.env_stream, action_stream = low_push.action_stream;
    uint draw_window = low_push.draw_window, draw_stride = low_push.draw_stride, draw_first = low_push.draw_first, draw_step = low_push.draw_step;
    uint vector = low_push.vector, head_base = low_push.head_base;
    bool begin = low_push.begin;
    low_limit = low_push.obs_limit;
    low_row = low_push.row;
    low_component = low_push.component;
    low_left = low_push.left;
    low_vector = vector;
    low_draws = low_push.draws;
    low_candidate = low_push.candidate;
    low_layers = low_push.layers;
    low_count = share * LOW_EACH;
    uint parts = (low_count + LOW_ROWS - 1u) / LOW_ROWS;
    low_member = gl_WorkGroupID.x / parts;
    low_first = gl_WorkGroupID.x % parts * LOW_ROWS;
    low_present = min(LOW_ROWS, low_count - low_first);
    low_memory = gl_WorkGroupID.x * 2u * LOW_HALF;
    uint all = low_push.members * LOW_EACH, time = clock[1] + low_push.first;
    low_moments = low_member * 2u * IN;
    if (LOW_HOLDS_MOMENTS) {
        TRANSFER_LOAD(low_mean, k, IN, normalizer[low_moments + k])
        TRANSFER_LOAD(low_rstd, k, IN, normalizer[low_moments + IN + k])
    }
#if !DISCRETE
    float middle[ACTION_SIZE], half_range[ACTION_SIZE];
    UNROLL for (uint o = 0u; o < ACTION_SIZE; o++) {
        middle[o] = action_scale[o];
        half_range[o] = action_scale[ACTION_SIZE + o];
    }
#endif
    uint last = HAS_CAP ? cap[low_member] : 0u; // 0: not yet known

    // The environments of the lane's rows, one group of lanes after the other.
    float states[LOW_GROUPS * STATE_SIZE], ret[LOW_GROUPS], ended[LOW_GROUPS], returns[LOW_GROUPS], lengths[LOW_GROUPS], diverged[LOW_GROUPS];
    uint taken[LOW_GROUPS], over[LOW_GROUPS];
    float count[LOW_GROUPS], sums[LOW_GROUPS * LOW_SUMS], squares[LOW_GROUPS * LOW_SUMS];
    UNROLL for (uint i = 0u; i < LOW_GROUPS; i++) {
        ret[i] = ended[i] = returns[i] = lengths[i] = diverged[i] = count[i] = 0.0;
        taken[i] = over[i] = 0u;
    }
    UNROLL for (uint i = 0u; i < LOW_GROUPS * STATE_SIZE; i++) states[i] = 0.0;
    UNROLL for (uint i = 0u; i < LOW_GROUPS * LOW_SUMS; i++) sums[i] = squares[i] = 0.0;

    bool alive = false; // whether any row's episode goes on
    [[dont_unroll]] for (uint g = 0u; g < LOW_GROUPS; g++) {
        uint row = g * LANES + LOW_LANE, of = min(low_first + row, low_count - 1u);
        uint member = low_member * share + of / LOW_EACH, environment = of % LOW_EACH, at = member * LOW_EACH + environment;
        float s[STATE_SIZE], obs[OBS_SIZE];
        Episode ep;
        if (begin) {
            uint drawer = member / draw_window * draw_stride + (member % draw_window + draw_first) * draw_step;
            Rng rng = rng_new(seed, env_stream, drawer, environment, time);
            episode_begin(s, ep, rng, obs);
        } else {
            TRANSFER_LOAD(s, f, STATE_SIZE, env_state[f * all + at])
            ep = episode_unpack(episode_step[at], episode_return[at]);
            env_observe(s, obs);
        }
        alive = alive || row < low_present && ep.done == 0u;
        low_store_inputs(obs, row);
        LOW_TURN(states, s, STATE_SIZE)
        LOW_TURN_ONE(ret, ep.ret)
        LOW_TURN_ONE(taken, ep.step)
        LOW_TURN_ONE(over, ep.done)
    }

    [[dont_unroll]] for (uint t = 0u; t < steps; t++) {
        if (!subgroupAny(alive)) break;
        alive = false;
        low_sync();
        Low layer = low_hidden();
        [[dont_unroll]] for (uint g = 0u; g < LOW_GROUPS; g++) {
            uint row = g * LANES + LOW_LANE, of = min(low_first + row, low_count - 1u);
            uint member = low_member * share + of / LOW_EACH, environment = of % LOW_EACH;
            uint drawer = member / draw_window * draw_stride + (member % draw_window + draw_first) * draw_step;
            float y[OUT];
            low_outputs(layer, row, y);
            float s[STATE_SIZE], obs[OBS_SIZE], sum[LOW_SUMS], square[LOW_SUMS], acted = count[0];
            UNROLL for (uint f = 0u; f < STATE_SIZE; f++) s[f] = states[f];
            UNROLL for (uint k = 0u; k < LOW_SUMS; k++) {
                sum[k] = sums[k];
                square[k] = squares[k];
            }
            Episode ep = Episode(taken[0], ret[0], over[0]);
            if (HAS_SEEN && ep.done == 0u) {
                env_observe(s, obs);
                acted += 1.0;
                UNROLL for (uint k = 0u; k < LOW_SUMS; k++) {
                    float d = obs[k] - (HAS_NORMALIZER ? MEAN(k) : 0.0);
                    sum[k] += d;
                    square[k] += d * d;
                }
            }
            bool broken = false; // environments clip their actions, so NaN outputs of a network would otherwise go unnoticed
            UNROLL for (uint o = 0u; o < OUT; o++) broken = broken || !m_isfinite(y[o]);

            Rng rng = rng_new(seed, action_stream, drawer, environment, time + t);
#if DISCRETE
            uint action = uint(head_act(y, 0u, 0.0, 0.0, MODE, rng).applied);
#else
            float action[ACTION_SIZE];
            UNROLL for (uint o = 0u; o < ACTION_SIZE; o++) {
                float log_std = 0.0;
                if (LOG_STD_PARAMETERS && !MODE) log_std = LOAD1(vectors, vectors_texels, member * vector + head_base + o);
                HeadAction a = head_act(y, o, head_log_std(y, o, log_std), 0.0, MODE, rng);
                action[o] = middle[o] + half_range[o] * a.applied;
            }
#endif
            float reward;
            uint done;
            float next_obs[OBS_SIZE];
            Rng env_rng = rng_new(seed, env_stream, drawer, environment, time + t + 1u);
            episode_advance(s, ep, action, env_rng, reward, done, next_obs, obs);
            if (HAS_CAP && last != 0u && done == 0u && ep.step >= last) done = ep.done = DONE_TRUNCATED;
            if (broken && (done & DONE_VOID) == 0u) ep.ret = M_NAN;
            bool ends = (done & DONE_VOID) == 0u && done != 0u;
            float end = ended[0] + (ends ? 1.0 : 0.0), total = returns[0] + (ends ? ep.ret : 0.0), length = lengths[0] + (ends ? float(ep.step) : 0.0);
            float diverge = diverged[0] + (ends && (done & DONE_DIVERGED) != 0u ? 1.0 : 0.0);
            alive = alive || row < low_present && ep.done == 0u;
            low_store_inputs(obs, row);
            LOW_TURN(states, s, STATE_SIZE)
            LOW_TURN(sums, sum, LOW_SUMS)
            LOW_TURN(squares, square, LOW_SUMS)
            LOW_TURN_ONE(ret, ep.ret)
            LOW_TURN_ONE(taken, ep.step)
            LOW_TURN_ONE(over, ep.done)
            LOW_TURN_ONE(ended, end)
            LOW_TURN_ONE(returns, total)
            LOW_TURN_ONE(lengths, length)
            LOW_TURN_ONE(diverged, diverge)
            LOW_TURN_ONE(count, acted)
        }
    }

    [[dont_unroll]] for (uint g = 0u; g < LOW_GROUPS; g++) {
        uint row = g * LANES + LOW_LANE;
        float s[STATE_SIZE], sum[LOW_SUMS], square[LOW_SUMS];
        UNROLL for (uint f = 0u; f < STATE_SIZE; f++) s[f] = states[f];
        UNROLL for (uint k = 0u; k < LOW_SUMS; k++) {
            sum[k] = sums[k];
            square[k] = squares[k];
        }
        Episode ep = Episode(taken[0], ret[0], over[0]);
        float end = ended[0], total = returns[0], length = lengths[0], diverge = diverged[0], acted = count[0];
        if (row < low_present) {
            uint at = low_member * low_count + low_first + row;
            TRANSFER_STORE(f, STATE_SIZE, s[f], env_state[f * all + at] = carried)
            episode_step[at] = episode_pack(ep);
            episode_return[at] = ep.ret;
            bool more = low_push.first != 0u;
            finished[at] = (more ? finished[at] : 0.0) + end;
            finished[all + at] = (more ? finished[all + at] : 0.0) + total;
            finished[2u * all + at] = (more ? finished[2u * all + at] : 0.0) + length;
            finished[3u * all + at] = (more ? finished[3u * all + at] : 0.0) + diverge;
            if (HAS_SEEN) {
                bool finite = true; // a diverged environment does not contribute
                UNROLL for (uint k = 0u; k < LOW_SUMS; k++) finite = finite && m_isfinite(square[k]);
                seen[at] = (more ? seen[at] : 0.0) + (finite ? acted : 0.0);
                TRANSFER_STORE(k, IN, sum[k], seen[(1u + k) * all + at] = (more ? seen[(1u + k) * all + at] : 0.0) + (finite ? carried : 0.0))
                TRANSFER_STORE(k, IN, square[k],
                               seen[(1u + IN + k) * all + at] = (more ? seen[(1u + IN + k) * all + at] : 0.0) + (finite ? carried : 0.0))
            }
        }
        LOW_TURN(states, s, STATE_SIZE)
        LOW_TURN(sums, sum, LOW_SUMS)
        LOW_TURN(squares, square, LOW_SUMS)
        LOW_TURN_ONE(ret, ep.ret)
        LOW_TURN_ONE(taken, ep.step)
        LOW_TURN_ONE(over, ep.done)
        LOW_TURN_ONE(ended, end)
        LOW_TURN_ONE(returns, total)
        LOW_TURN_ONE(lengths, length)
        LOW_TURN_ONE(diverged, diverge)
        LOW_TURN_ONE(count, acted)
    }
}
