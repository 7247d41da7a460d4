// The episode around an environment: time limit, action repeat, reward scale, sparse reward, auto-reset. Pure
// functions, no buffers: the stand-alone step kernel and the fused rollouts include this same file after the
// environment's. The options are specialization constants, so disabled ones cost nothing.
//
// Random numbers: an initial reset draws from rng_new(seed, "env", member, environment, 0), the t-th step (t = 1, 2,
// …) from rng_new(seed, "env", member, environment, t). A reset inside a step continues that step's sequence, so the
// step's Rng must not be used afterwards.

#include "engine/finite.glsl"
#include "engine/rng.glsl"
#include "envs/transfer.glsl"

layout(constant_id = 10) const uint TIME_LIMIT = 0;      // environment steps per episode; 0: unlimited
layout(constant_id = 11) const uint ACTION_REPEAT = 1;   // environment steps per action
layout(constant_id = 12) const uint AUTO_RESET = 0;      // one of AUTO_RESET_*
layout(constant_id = 13) const bool SPARSE_REWARD = false;   // zero until the end of the episode, then the sum
layout(constant_id = 14) const float REWARD_SCALE = 1.0; // factor of the returned reward, not of Episode.ret

const uint AUTO_RESET_NORMAL = 0u;   // the step that ends an episode also begins the next one
const uint AUTO_RESET_FAST = 1u;     // the same, always from the environment's first initial state
const uint AUTO_RESET_DISABLED = 2u; // the final state stays; further steps do nothing

const uint DONE_TERMINATED = 1u; // the environment terminated: no bootstrapping
const uint DONE_TRUNCATED = 2u;  // the time limit was reached; may be combined with DONE_TERMINATED
// DONE_DIVERGED is combined with DONE_TERMINATED: the state left all bounds, or a state, an observation or a reward
// is not finite. It is only in a step's flags, not kept in Episode.
const uint DONE_DIVERGED = 8u;
const uint DONE_VOID = 4u;       // no transition: a step after the end when disabled

// An environment defines ENV_DIVERGES if its state may leave all bounds. env_step sets env_diverged when it terminates
// for that reason.
#ifndef ENV_DIVERGES
const bool env_diverged = false;
#endif

// step and ret belong to the current episode. After the step that ends it they keep the final values for the
// caller, and done its flags; the next step starts from zero, as in EvoRL's EpisodeWrapper.
struct Episode {
    uint step;  // environment steps taken: an action counts ACTION_REPEAT, as in EvoRL and Brax
    float ret;  // undiscounted sum of unscaled rewards
    uint done;  // DONE_TERMINATED | DONE_TRUNCATED of the last step
};

#if DISCRETE
#define EPISODE_ACTION uint action
#else
#define EPISODE_ACTION const float action[ACTION_SIZE]
#endif

// With ENV_TOGETHER the lanes of a subgroup compute their environments together: all of them reach every env_step, and
// lanes with env_idle set only help.
#ifndef ENV_TOGETHER
const bool env_idle = false;
#endif

// The element of the tensor episode_step: step in the low 30 bits, done in the high two.
uint episode_pack(Episode ep) { return (ep.step & 0x3FFFFFFFu) | (ep.done << 30); }

Episode episode_unpack(uint word, float ret) { return Episode(word & 0x3FFFFFFFu, ret, word >> 30); }

// episode_begin begins a first episode.
void episode_begin(out float s[STATE_SIZE], out Episode ep, inout Rng rng, out float obs[OBS_SIZE]) {
    env_reset(s, rng);
    env_observe(s, obs);
    ep = Episode(0u, 0.0, 0u);
}

// episode_finite reports whether all numbers of a step are finite: a sum with a non-finite term is not finite.
bool episode_finite(const float s[STATE_SIZE], const float obs[OBS_SIZE], float reward) {
    float sum = reward;
    [[unroll]] for (uint f = 0u; f < STATE_SIZE; f++) sum += s[f];
    [[unroll]] for (uint k = 0u; k < OBS_SIZE; k++) sum += obs[k];
    return m_isfinite(sum);
}

// episode_advance takes one action. next_obs is the true observation after it; obs is the one to act on next: the
// first observation of the new episode if the step also reset, else next_obs. done is a set of DONE_* flags.
//
// A repeated action stops at the end of the episode, whether terminated or at the time limit, so no episode is longer
// than the limit even if the limit is no multiple of the repeat; its rewards are summed.
//
// A step with a non-finite number ends the episode as diverged. Nothing bootstraps from its next_obs, which becomes
// 0; its reward is 0 if it is not finite.
void episode_advance(inout float s[STATE_SIZE], inout Episode ep, EPISODE_ACTION, inout Rng rng,
                     out float reward, out uint done, out float next_obs[OBS_SIZE], out float obs[OBS_SIZE]) {
    reward = 0.0;
    done = 0u;
    bool over = ep.done != 0u, resets = false, steps = false, terminated = false, truncated = false;
#ifdef ENV_TOGETHER
    bool idle = env_idle;
    uint taken = 0u;
    env_idle = idle || over && AUTO_RESET == AUTO_RESET_DISABLED;
    ep.step = over && !env_idle ? 0u : ep.step;
    ep.ret = over && !env_idle ? 0.0 : ep.ret;
    do {
        float r;
        bool ends;
        env_step(s, action, rng, r, ends);
        if (!env_idle) {
            reward += r;
            ep.step++;
            terminated = ends;
            truncated = TIME_LIMIT != 0u && ep.step >= TIME_LIMIT;
            env_idle = terminated || truncated;
        }
        taken++;
    } while (ACTION_REPEAT > 1u && taken < ACTION_REPEAT && !subgroupAll(env_idle));
    env_idle = idle;
    if (idle) {
        done = DONE_VOID;
    } else
#endif
    if (over && AUTO_RESET == AUTO_RESET_DISABLED) {
        done = ep.done | DONE_VOID;
    } else {
#ifndef ENV_TOGETHER
        ep.step = over ? 0u : ep.step;
        ep.ret = over ? 0.0 : ep.ret;
        uint taken = 0u;
        do {
            float r;
            env_step(s, action, rng, r, terminated);
            reward += r;
            ep.step++;
            truncated = TIME_LIMIT != 0u && ep.step >= TIME_LIMIT;
            taken++;
            // The first comparison lets drivers see that there is no loop, which makes a step on lavapipe up to 1.8
            // times as fast.
        } while (ACTION_REPEAT > 1u && taken < ACTION_REPEAT && !terminated && !truncated);
#endif
        steps = true;
    }
    env_observe(s, next_obs);
    if (steps) {
        bool finite = episode_finite(s, next_obs, reward);
        reward = m_isfinite(reward) ? reward : 0.0;
        [[unroll]] for (uint k = 0u; k < OBS_SIZE; k++) next_obs[k] = finite ? next_obs[k] : 0.0;
        ep.ret += reward;
        ep.done = (terminated || !finite ? DONE_TERMINATED : 0u) | (truncated ? DONE_TRUNCATED : 0u);
        done = ep.done | (env_diverged || !finite ? DONE_DIVERGED : 0u);
        resets = AUTO_RESET != AUTO_RESET_DISABLED && done != 0u;
        if (SPARSE_REWARD) {
            reward = done != 0u ? ep.ret : 0.0;
        }
        reward *= REWARD_SCALE;
    }
    obs = next_obs;
    if (resets) {
        if (AUTO_RESET == AUTO_RESET_FAST) {
            // The first state is not stored: its random numbers come from counters, so the initial reset is repeated.
            rng = rng_new(rng.key.x, rng.key.y, rng.counter.x, rng.counter.y, 0u);
        }
        env_reset(s, rng);
        env_observe(s, obs);
    }
}
