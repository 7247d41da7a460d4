#version 450

// Steps of worlds with several agents, or whose state stays in the buffer (envs/stored.glsl). An invocation has a world and its seats. A dispatch is one
// step, after other kernels have evaluated the networks of all seats, or with given actions; or, with POLICY_NETWORK, many, in which a subgroup, which then is
// a workgroup, evaluates a member's network for the seats of its worlds, one seat after the other (mlp_stream.glsl); or many with POLICY_RANDOM, between which
// a world stays in its lane; or none, which only begins episodes, or observes.
//
// Groups: x = ceil(members * environments / local size) or, with POLICY_NETWORK, members * ceil(environments / LANES).

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 6) in;

#include "envs/options.glsl"
#include "ENVIRONMENT"
#include "envs/seats.glsl"
#include "envs/rows.glsl"

const uint IN = OBS_SIZE;
layout(constant_id = 25) const uint OUT = 1;            // outputs of the network, as the head requires
layout(constant_id = 0) const uint LANES = 8;           // of a subgroup, with POLICY_NETWORK
layout(constant_id = 20) const uint POLICY = 0;         // one of the following
const uint POLICY_OUTPUTS = 0u;
const uint POLICY_NETWORK = 3u;
const uint POLICY_RANDOM = 1u;                          // uniform over the action space
const uint POLICY_GIVEN = 2u;                           // the host's; it also gives the seed, in the clock
layout(constant_id = 21) const bool TRAJECTORY = false; // write every transition
layout(constant_id = 22) const bool HAS_NORMALIZER = false; // sums of observations are of deviations from its mean; POLICY_NETWORK has normalized ones
layout(constant_id = 23) const bool APPLIED = false;    // trajectories store applied actions with their log-probabilities; else sampled ones
layout(constant_id = 24) const bool MODE = false;       // the most likely action, without exploration, instead of a sample
layout(constant_id = 26) const bool HAS_CAP = false;    // episodes are truncated at `cap` steps
layout(constant_id = 27) const bool HAS_SEEN = false;   // sum the observations
layout(constant_id = 29) const bool HAS_SKIP = false;   // some members take no steps; only with AUTO_RESET_DISABLED
layout(constant_id = 32) const bool HAS_ROWS = false;   // rows of parameters play seats; steps of seats that another row than the member's plays are void
layout(constant_id = 33) const bool SCRIPTS = false;    // rows may be ROW_SCRIPT or ROW_RANDOM
layout(constant_id = 34) const bool EACH_SEAT = false;  // with HAS_ROWS: no step is void for being another row's
layout(constant_id = 35) const bool STEP = false;       // take steps; else begin episodes or observe. Drivers that skip no branch would do all of it.

layout(std430, set = 0, binding = 0) buffer Outputs { float outputs[]; };                // [M, E, A, OUT], or given actions; optional
layout(std430, set = 0, binding = 1) readonly buffer Params { float params[]; };         // [M, row], for the head's parameters; optional
layout(std430, set = 0, binding = 2) readonly buffer Normalizer { float normalizer[]; }; // [M / share, 2, OBS_SIZE]: mean, 1 / std
layout(std430, set = 0, binding = 3) readonly buffer ActionScale { float action_scale[]; }; // [2, ACTION_SIZE]: middle, half range
layout(std430, set = 0, binding = 4) readonly buffer Noise { float noise[]; };           // [M]: of the head's exploration; optional
layout(std430, set = 0, binding = 5) readonly buffer Clock { uint clock[]; };            // [1]: environment steps per environment so far
layout(std430, set = 0, binding = 6) buffer EnvState { float env_state[]; };             // [STATE_SIZE, M, E]
layout(std430, set = 0, binding = 7) buffer WorldStep { uint world_step[]; };            // [M, E]
layout(std430, set = 0, binding = 8) buffer EpisodeStep { uint episode_step[]; };        // [M, E, A]
layout(std430, set = 0, binding = 9) buffer EpisodeReturn { float episode_return[]; };   // [M, E, A]
layout(std430, set = 0, binding = 10) buffer Observed { float observed[]; };             // [M, E, A, OBS_SIZE]: to act on next; 0 of agents that left
// [4, M, E, A]: episodes ended, their returns, their lengths, how many diverged; summed from first = 0 on.
layout(std430, set = 0, binding = 11) buffer Finished { float finished[]; };
// [1 + 2 OBS_SIZE, M, E, A]: number of observations acted on, sums of their deviations from the normalizer's mean, and
// of the squared deviations; from first = 0 on.
layout(std430, set = 0, binding = 12) buffer Seen { float seen[]; };
layout(std430, set = 0, binding = 13) readonly buffer Cap { uint cap[]; };               // [M / share]: steps; 0: none
layout(std430, set = 0, binding = 14) readonly buffer Skip { uint skip[]; };             // [M]: not 0: the member takes no step
layout(std430, set = 0, binding = 15) readonly buffer Rows { uint rows[]; };             // [M, E, A]: the row that plays the seat, or one of ROW_*
layout(std430, set = 0, binding = 16) writeonly buffer Obs { float obs_out[]; };         // [T, M, E, A, OBS_SIZE]; optional
layout(std430, set = 0, binding = 17) writeonly buffer Action { float action_out[]; };   // [T, M, E, A, DIMS]: as sampled or as applied; optional
layout(std430, set = 0, binding = 18) writeonly buffer LogProb { float log_prob_out[]; }; // [T, M, E, A]: of the action in that form; optional
layout(std430, set = 0, binding = 19) writeonly buffer Reward { float reward_out[]; };   // [T, M, E, A]; optional
layout(std430, set = 0, binding = 20) writeonly buffer Done { uint done_out[]; };        // [T, M, E, A]: DONE_* flags; optional
layout(std430, set = 0, binding = 21) writeonly buffer NextObs { float next_obs_out[]; }; // [T, M, E, A, OBS_SIZE]: before any reset; optional
layout(std430, set = 0, binding = 22) writeonly buffer Global { float global_out[]; };   // [T, M, E, GLOBAL_SIZE]; optional
layout(std430, set = 0, binding = 23) writeonly buffer NextGlobal { float next_global_out[]; }; // as Global, before any reset; optional

layout(std430, set = 0, binding = 24) readonly buffer Params4 { vec4 params4[]; };       // params, for POLICY_NETWORK; optional
layout(set = 0, binding = 25, rgba32f) readonly uniform imageBuffer params_texels;       // the same

layout(push_constant) uniform Push {
    uint members;
    uint environments;  // per member
    uint steps;         // with STEP: at least 1; more than that with POLICY_NETWORK and POLICY_RANDOM only
    uint first;         // index on the time axis of the first of them
    bool begin;         // without STEP: begin new episodes, else observe
    uint row;           // floats of a row of parameters
    uint head_base;     // offset of the head's parameters in the row
    uint seed;
    uint env_stream;    // of the environments' random numbers
    uint action_stream; // of the policy's
    uint params_period; // members m and m + k * params_period share parameters; the number of members if none do
    uint draw_window;   // random numbers as of member m / draw_window * draw_stride + (m % draw_window + draw_first) * draw_step
    uint draw_stride;
    uint draw_first;
    uint draw_step;
    uint share;         // number of consecutive members, or with EACH_SEAT rows, that share a normalizer and a cap
    float obs_limit;    // normalized observations are clipped to +- this
    uint stream_layers; // hidden layers of the network
    uint stream_hidden[8]; // and their units
};

#define MLP_LOOP
#include "engine/finite.glsl"
#include "engine/nn/mlp.glsl"
#include "engine/nn/mlp_stream.glsl"
#include "engine/nn/head.glsl"

const bool WORLD_HELD = POLICY == POLICY_RANDOM;                // a world stays in its lane between steps
#ifdef SEATS_UNROLLED
#define TALLIES (4u * AGENTS)
const bool TALLIED = WORLD_HELD; // what `finished` sums is held, too
#else
#define TALLIES 1u
const bool TALLIED = false;
#endif
const bool STEPS_SHOWN = !WORLD_HELD || TRAJECTORY || HAS_SEEN; // somebody looks at what every step shows, else only at the last one's

uint at; // the world's index in [M, E]

#ifdef GLOBAL_SIZE
#define GLOBAL_WRITE(to, i) \
    if (TRAJECTORY) { \
        float g[GLOBAL_SIZE]; \
        env_global(STATE_ARGUMENT g); \
        [[unroll]] for (uint k = 0u; k < GLOBAL_SIZE; k++) to[(i) * GLOBAL_SIZE + k] = g[k]; \
    }
#else
#define GLOBAL_WRITE(to, i)
#endif

#ifdef STATE_IN_BUFFER
float written = 0.0; // sum of what state and observations were set to: finite if all of it is
uint show_at, show_next; // where an observation begins in `observed`, and in next_obs_out
bool show_acted, shows_next; // it is acted on, else zeros are; it is a transition's next one, too

float state(uint f) { return env_state[f * members * environments + at]; }

void set_state(uint f, float x) {
    env_state[f * members * environments + at] = x;
    written += x;
}

void show(uint k, float x) {
    observed[show_at + k] = show_acted ? x : 0.0;
    if (TRAJECTORY && shows_next) next_obs_out[show_next + k] = x;
    written += x;
}
#endif

Episode seat_episode(uint seat) { return episode_unpack(episode_step[at * AGENTS + seat], episode_return[at * AGENTS + seat]); }

void set_seat_episode(uint seat, Episode ep) {
    episode_step[at * AGENTS + seat] = episode_pack(ep);
    episode_return[at * AGENTS + seat] = ep.ret;
}

// observe writes what the agents act on next. The state belongs to the next episode already after a step that ended one.
void observe(STATE_PARAMETER(const) const Episode world SEATS_PARAMETER(const)) {
    bool begins = world.done != 0u && AUTO_RESET != AUTO_RESET_DISABLED;
    SEATS_LOOP(seat) {
        uint i = (at * AGENTS + seat) * OBS_SIZE;
        bool acts = (begins ? env_alive(STATE_ARGUMENT seat) : SEAT(seat).done == 0u) || POLICY == POLICY_GIVEN;
#ifdef STATE_IN_BUFFER
        show_at = i;
        show_acted = acts;
        shows_next = false;
        env_observe(seat);
#else
        float obs[OBS_SIZE];
        env_observe(s, seat, obs);
        TRANSFER_STORE(k, OBS_SIZE, obs[k], observed[i + k] = acts ? carried : 0.0)
#endif
    }
}

// load reads the state of the world and of its seats.
void load(STATE_PARAMETER(out) out Episode world SEATS_PARAMETER(out)) {
#ifndef STATE_IN_BUFFER
    TRANSFER_LOAD(s, f, STATE_SIZE, env_state[f * members * environments + at])
#endif
    world = episode_unpack(world_step[at], 0.0);
#ifdef SEATS_UNROLLED
    SEATS_LOOP(seat) seats[seat] = seat_episode(seat);
#endif
}

// store writes them.
void store(STATE_PARAMETER(const) Episode world SEATS_PARAMETER(const)) {
#ifndef STATE_IN_BUFFER
    uint all = members * environments + (members >> 31u); // which is zero: else compilers would hold the addresses that load used in registers until here
    TRANSFER_STORE(f, STATE_SIZE, s[f], env_state[f * all + at] = carried)
#endif
    world_step[at] = episode_pack(world);
#ifdef SEATS_UNROLLED
    SEATS_LOOP(seat) set_seat_episode(seat, seats[seat]);
#endif
}

// take takes a step, or begins episodes, or observes; now is its index on the time axis. tally takes the place of `finished` if it is TALLIED.
void take(uint now, STATE_PARAMETER(inout) inout Episode world SEATS_PARAMETER(inout), inout float tally[TALLIES]) {
    uint all = members * environments;
    uint member = at / environments, environment = at % environments, places = all * AGENTS;
    uint drawer = member / draw_window * draw_stride + (member % draw_window + draw_first) * draw_step;
    bool hosts = POLICY == POLICY_GIVEN;
    uint source = hosts ? clock[0] : seed;
    uint time = hosts ? clock[1] - 1u : clock[1] + now; // the host counts from 1, and 0 is a reset

    if (!STEP && begin) {
        Rng rng = rng_new(source, env_stream, drawer, environment, hosts ? 0u : time);
        env_reset(STATE_ARGUMENT rng);
        seats_begin(STATE_ARGUMENT world SEATS_ARGUMENT);
        if (HAS_SKIP && skip[member] != 0u) { // its steps come after the end: all are void
            world.done = DONE_TRUNCATED;
            SEATS_LOOP(seat) {
                Episode ep = SEAT(seat);
                ep.done = DONE_TRUNCATED;
                SEAT_SET(seat, ep);
            }
        }
    }
    bool over = world.done != 0u;
    bool idle = STEP && over && AUTO_RESET == AUTO_RESET_DISABLED; // of a step after the end only the flags are written
    if (TRAJECTORY && idle) SEATS_LOOP(seat) done_out[now * places + at * AGENTS + seat] = SEAT(seat).done | DONE_VOID;
    if (idle && POLICY != POLICY_GIVEN) return;
    if (!STEP || idle) {
        observe(STATE_ARGUMENT world SEATS_ARGUMENT);
        if (TRAJECTORY && idle) { // the host sees that nothing changes
            SEATS_LOOP(seat) {
                uint place = at * AGENTS + seat;
                reward_out[place] = 0.0;
                [[dont_unroll]] for (uint k = 0u; k < OBS_SIZE; k++) next_obs_out[place * OBS_SIZE + k] = observed[place * OBS_SIZE + k];
            }
        }
        return;
    }
    if (over) seats_begin(STATE_ARGUMENT world SEATS_ARGUMENT);
    GLOBAL_WRITE(global_out, now * all + at)

    // Actions. An agent that left has the action 0, or the middle of the range.
#if DISCRETE
    uint action[AGENTS];
#else
    float action[AGENTS][ACTION_SIZE];
#endif
    SEATS_SET(acts);
    SEATS_SET(breaks); // environments clip their actions, so NaN outputs of a network would otherwise go unnoticed
    SEATS_SET(belongs);
    [[unroll]] for (uint i = 0u; i < (AGENTS + 31u) / 32u; i++) acts[i] = breaks[i] = belongs[i] = 0u;
    SEATS_LOOP(seat) {
        uint place = at * AGENTS + seat, player = HAS_ROWS ? rows[place] : member % params_period;
        bool fixed_player = SCRIPTS && player >= ROW_SCRIPT; // its outputs are those of any row, and not looked at
        uint owner = fixed_player ? member : player;
        bool acted = SEAT(seat).done == 0u, own = !HAS_ROWS || EACH_SEAT || player == member, broken = false;
        float y[OUT], kept[DIMS], log_prob = 0.0;
        UNROLL for (uint o = 0u; o < OUT; o++) {
            y[o] = (POLICY == POLICY_OUTPUTS || POLICY == POLICY_NETWORK) && !fixed_player ? outputs[place * OUT + o] : 0.0;
            broken = broken || !m_isfinite(y[o]);
        }
        SEATS_ADD(acts, seat, acted);
        SEATS_ADD(breaks, seat, broken);
        SEATS_ADD(belongs, seat, own);
        float exploration = EXPLORE ? noise[owner] : 0.0;
        Rng rng = rng_new(source, action_stream, drawer, environment * AGENTS + seat, time);
#if DISCRETE
        if (POLICY == POLICY_GIVEN) {
            kept[0] = float(floatBitsToUint(outputs[place])); // the host's words
        } else {
            HeadAction a = head_act(y, 0u, 0.0, exploration, MODE, rng); // without a network all logits are zero: the uniform distribution
            kept[0] = a.applied;
            log_prob = a.log_prob;
        }
        if (fixed_player) {
            kept[0] = float(min(uint(rng_uniform(rng) * float(ACTION_SIZE)), uint(ACTION_SIZE) - 1u));
#ifdef ENV_SCRIPT
            if (player == ROW_SCRIPT && acted) kept[0] = float(env_script(STATE_ARGUMENT seat, rng));
#endif
            log_prob = 0.0;
        }
        action[seat] = acted ? uint(kept[0]) : 0u;
#else
        UNROLL for (uint o = 0u; o < ACTION_SIZE; o++) {
            float middle = action_scale[o], half_range = action_scale[ACTION_SIZE + o], applied;
            if (POLICY == POLICY_GIVEN) {
                action[seat][o] = kept[o] = outputs[place * ACTION_SIZE + o];
                continue;
            }
            if (POLICY == POLICY_RANDOM) {
                kept[o] = applied = rng_uniform(rng, -1.0, 1.0);
            } else {
                float parameter = LOG_STD_PARAMETERS && (TRAJECTORY || !MODE) ? params[owner * row + head_base + o] : 0.0;
                HeadAction a = head_act(y, o, head_log_std(y, o, parameter), exploration, MODE, rng);
                kept[o] = APPLIED ? a.applied : a.sampled;
                log_prob += a.log_prob;
                if (APPLIED) log_prob -= head_correction(a.sampled);
                applied = a.applied;
            }
            if (fixed_player) kept[o] = applied = rng_uniform(rng, -1.0, 1.0);
            action[seat][o] = middle + (acted ? half_range * applied : 0.0);
        }
        if (fixed_player) log_prob = 0.0;
#ifdef ENV_SCRIPT
        if (fixed_player && player == ROW_SCRIPT && acted) {
            env_script(STATE_ARGUMENT seat, rng, action[seat]);
            UNROLL for (uint o = 0u; o < ACTION_SIZE; o++) kept[o] = (action[seat][o] - action_scale[o]) / action_scale[ACTION_SIZE + o];
        }
#endif
#endif
        if (TRAJECTORY) {
            uint i = now * places + place; // index in [T, M, E, A]
            UNROLL for (uint o = 0u; o < DIMS; o++) action_out[i * DIMS + o] = acted ? kept[o] : 0.0;
            log_prob_out[i] = acted ? log_prob : 0.0;
            [[dont_unroll]] for (uint k = 0u; k < OBS_SIZE; k++) obs_out[i * OBS_SIZE + k] = observed[place * OBS_SIZE + k];
        }
        if (HAS_SEEN && acted && own) {
            float sum = 0.0;
            [[dont_unroll]] for (uint k = 0u; k < OBS_SIZE; k++) sum += observed[place * OBS_SIZE + k];
            bool finite = m_isfinite(sum); // a diverged world does not contribute
            if (finite) seen[place] += 1.0;
            [[dont_unroll]] for (uint k = 0u; k < OBS_SIZE; k++) {
                float d = finite ? observed[place * OBS_SIZE + k] - (HAS_NORMALIZER ? normalizer[owner / share * 2u * OBS_SIZE + k] : 0.0) : 0.0;
                seen[(1u + k) * places + place] += d;
                seen[(1u + OBS_SIZE + k) * places + place] += d * d;
            }
        }
    }

    Rng rng = rng_new(source, env_stream, drawer, environment, time + 1u);
    float reward[AGENTS];
    SEATS_LOOP(seat) reward[seat] = 0.0;
    uint limit = HAS_CAP ? cap[member / share] : 0u;
    if (TIME_LIMIT != 0u) limit = limit == 0u ? TIME_LIMIT : min(limit, TIME_LIMIT);
#ifdef ENV_SHAPED
    seats_taken = time;
#endif
    // sum is finite if the state, the rewards and the observations are.
#ifdef STATE_IN_BUFFER
    written = 0.0;
    seats_step(world SEATS_ARGUMENT, action, rng, limit, reward);
    SEATS_LOOP(seat) {
        if (!SEATS_HAS(acts, seat)) continue;
        show_at = (at * AGENTS + seat) * OBS_SIZE;
        show_next = now * places * OBS_SIZE + show_at;
        show_acted = shows_next = true;
        env_observe(seat);
        written += reward[seat];
    }
    float sum = written;
#else
    seats_step(s, world SEATS_ARGUMENT, action, rng, limit, reward);
    float sum = 0.0;
    [[unroll]] for (uint f = 0u; f < STATE_SIZE; f++) sum += s[f];
    SEATS_LOOP(seat) {
        if (!SEATS_HAS(acts, seat)) continue;
        float next[OBS_SIZE];
        env_observe(s, seat, next);
        sum = finite_sum(sum + reward[seat], next);
        if (TRAJECTORY) {
            uint i = (now * places + at * AGENTS + seat) * OBS_SIZE;
            TRANSFER_STORE(k, OBS_SIZE, next[k], next_obs_out[i + k] = carried)
        }
    }
#endif
    bool finite = m_isfinite(sum);
    bool diverged = env_diverged || !finite;
    if (!finite) world.done |= DONE_TERMINATED;
    SEATS_LOOP(seat) {
        if (!SEATS_HAS(acts, seat)) continue;
        if (!m_isfinite(reward[seat])) reward[seat] = 0.0;
        Episode ep = SEAT(seat);
        ep.ret += reward[seat];
        ep.done |= world.done;
        if (SEATS_HAS(breaks, seat)) ep.ret = M_NAN;
        SEAT_SET(seat, ep);
        if (!finite && TRAJECTORY) { // nothing bootstraps from it
            uint i = (now * places + at * AGENTS + seat) * OBS_SIZE;
            [[dont_unroll]] for (uint k = 0u; k < OBS_SIZE; k++) next_obs_out[i + k] = 0.0;
        }
    }
    GLOBAL_WRITE(next_global_out, now * all + at)

    SEATS_LOOP(seat) {
        Episode ep = SEAT(seat);
        bool acted = SEATS_HAS(acts, seat), own = SEATS_HAS(belongs, seat);
        uint place = at * AGENTS + seat, ended = acted ? ep.done : 0u;
        float paid = SPARSE_REWARD ? (ended != 0u ? ep.ret : 0.0) : reward[seat];
#ifdef ENV_SHAPED
        paid += finite ? seats_shaped[seat] : 0.0;
#endif
        if (TALLIED) {
            bool ends = ended != 0u && own;
            tally[4u * seat] += ends ? 1.0 : 0.0;
            tally[4u * seat + 1u] += ends ? ep.ret : 0.0;
            tally[4u * seat + 2u] += ends ? float(ep.step) : 0.0;
            tally[4u * seat + 3u] += ends && diverged ? 1.0 : 0.0;
        } else if (ended != 0u && own) {
            finished[place] += 1.0;
            finished[places + place] += ep.ret;
            finished[2u * places + place] += float(ep.step);
            finished[3u * places + place] += diverged ? 1.0 : 0.0;
        }
        if (TRAJECTORY) {
            uint i = now * places + place;
            reward_out[i] = acted ? paid * REWARD_SCALE : 0.0;
            uint flags = ep.done | (acted && own ? 0u : DONE_VOID);
            done_out[i] = flags | (ended != 0u && diverged ? DONE_DIVERGED : 0u);
        }
    }
    bool resets = world.done != 0u && AUTO_RESET != AUTO_RESET_DISABLED;
    if (resets) seats_reset(STATE_ARGUMENT rng);
#ifdef STATE_IN_BUFFER
    if (resets) {
        observe(world SEATS_ARGUMENT);
    } else { // the step's own observations are acted on, but for agents that have left
        SEATS_LOOP(seat) {
            if (!SEATS_HAS(acts, seat) || SEAT(seat).done == 0u || POLICY == POLICY_GIVEN) continue;
            [[dont_unroll]] for (uint k = 0u; k < OBS_SIZE; k++) observed[(at * AGENTS + seat) * OBS_SIZE + k] = 0.0;
        }
    }
#else
    if (STEPS_SHOWN) observe(s, world SEATS_ARGUMENT);
#endif
    if (TRAJECTORY) { // the next observation of a step that takes no part is what is acted on next
        SEATS_LOOP(seat) {
            if (SEATS_HAS(acts, seat)) continue;
            uint place = at * AGENTS + seat, i = (now * places + place) * OBS_SIZE;
            [[dont_unroll]] for (uint k = 0u; k < OBS_SIZE; k++) next_obs_out[i + k] = observed[place * OBS_SIZE + k];
        }
    }
}

// clear begins the sums over steps.
void clear() {
    uint places = members * environments * AGENTS;
    SEATS_LOOP(seat) {
        uint place = at * AGENTS + seat;
        [[unroll]] for (uint f = 0u; f < 4u; f++) finished[f * places + place] = 0.0;
        if (HAS_SEEN) {
            [[dont_unroll]] for (uint f = 0u; f < 1u + 2u * OBS_SIZE; f++) seen[f * places + place] = 0.0;
        }
    }
}

// networks evaluates the member's network for the seats of the worlds of the first `present` lanes; all lanes take part.
void networks(uint member, uint present) {
    uint owner = member % params_period, moments = owner / share * 2u * IN;
    [[dont_unroll]] for (uint seat = 0u; seat < AGENTS; seat++) {
        uint place = at * AGENTS + seat;
        float x[IN], y[OUT];
        UNROLL for (uint k = 0u; k < IN; k++) {
            x[k] = observed[place * IN + k];
            if (HAS_NORMALIZER) x[k] = clamp((x[k] - normalizer[moments + k]) * normalizer[moments + IN + k], -obs_limit, obs_limit);
        }
        UNROLL for (uint o = 0u; o < OUT; o++) y[o] = 0.0;
        stream_forward(owner * row, x, present, y);
        if (LANE < present) {
            UNROLL for (uint o = 0u; o < OUT; o++) outputs[place * OUT + o] = y[o];
        }
    }
}

// advance takes the step with an index on the time axis, and with WORLD_HELD all the others of the dispatch.
void advance(uint begins) {
#ifndef STATE_IN_BUFFER
    float s[STATE_SIZE];
#endif
    Episode world;
#ifdef SEATS_UNROLLED
    Episode seats[AGENTS];
#endif
    float tally[TALLIES];
    if (STEP || !begin) load(STATE_ARGUMENT world SEATS_ARGUMENT);
    if (begins == 0u) clear();
    if (!STEP || !WORLD_HELD) {
        take(begins, STATE_ARGUMENT world SEATS_ARGUMENT, tally);
    } else {
        uint places = members * environments * AGENTS;
        if (TALLIED) SEATS_LOOP(seat) {
            [[unroll]] for (uint f = 0u; f < 4u; f++) tally[4u * seat + f] = finished[f * places + at * AGENTS + seat];
        }
        [[dont_unroll]] for (uint t = 0u; t < steps; t++) take(begins + t, STATE_ARGUMENT world SEATS_ARGUMENT, tally);
        if (TALLIED) SEATS_LOOP(seat) {
            [[unroll]] for (uint f = 0u; f < 4u; f++) finished[f * places + at * AGENTS + seat] = tally[4u * seat + f];
        }
#ifndef STATE_IN_BUFFER
        if (!STEPS_SHOWN) observe(s, world SEATS_ARGUMENT);
#endif
    }
    store(STATE_ARGUMENT world SEATS_ARGUMENT);
}

void main() {
    unroll_apart();
    if (POLICY != POLICY_NETWORK || !STEP) {
        at = gl_GlobalInvocationID.x;
        if (at < members * environments) advance(first);
        return;
    }
    uint chunks = (environments + LANES - 1u) / LANES, member = gl_WorkGroupID.x / chunks;
    uint begins = gl_WorkGroupID.x % chunks * LANES, present = min(LANES, environments - begins);
    at = member * environments + begins + min(LANE, present - 1u);
    [[dont_unroll]] for (uint t = 0u; t < steps; t++) {
        networks(member, present);
        if (LANE < present) advance(first + t);
    }
}
