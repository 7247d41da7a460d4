// The episode around an environment whose observations are bits: time limit, action repeat, reward scale, sparse reward,
// auto-reset, as envs/wrapper.glsl has them for observations of floats. Pure functions, no buffers.
//
// The environment has discrete actions and defines OBS_WORDS, ceil(OBS_SIZE / 32), and
//
//     void env_reset(inout float s[STATE_SIZE], inout Rng rng);
//     void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated);
//     void env_observe(const float s[STATE_SIZE], out uint obs[OBS_WORDS]);
//
// Feature k of an observation is bit k % 32 of word k / 32; the bits after the last are 0. env_reset finds the last state of the
// episode before, zeros if it is the first.
//
// An environment that paints its observations defines ENV_WORD and env_word instead of env_observe (envs/paint.glsl). What is observed here is its state.
//
// Random numbers are drawn as in envs/wrapper.glsl.

#include "engine/finite.glsl"
#include "engine/rng.glsl"
#include "envs/transfer.glsl"

layout(constant_id = 10) const uint TIME_LIMIT = 0;      // environment steps per episode; 0: unlimited
layout(constant_id = 11) const uint ACTION_REPEAT = 1;   // environment steps per action
layout(constant_id = 12) const uint AUTO_RESET = 0;      // one of AUTO_RESET_*
layout(constant_id = 13) const bool SPARSE_REWARD = false;   // zero until the end of the episode, then the sum
layout(constant_id = 14) const float REWARD_SCALE = 1.0; // factor of the returned reward, not of Episode.ret

// As in envs/wrapper.glsl.
const uint AUTO_RESET_NORMAL = 0u, AUTO_RESET_FAST = 1u, AUTO_RESET_DISABLED = 2u;
const uint DONE_TERMINATED = 1u, DONE_TRUNCATED = 2u, DONE_VOID = 4u, DONE_DIVERGED = 8u;

// step and ret keep the final values after the step that ends an episode, and done its flags; the next step starts from zero.
struct Episode {
    uint step; // environment steps taken
    float ret; // undiscounted sum of unscaled rewards
    uint done; // DONE_TERMINATED | DONE_TRUNCATED of the last step
};

// The element of the tensor episode_step: step in the low 30 bits, done in the high two.
uint episode_pack(Episode ep) { return (ep.step & 0x3FFFFFFFu) | (ep.done << 30); }

Episode episode_unpack(uint word, float ret) { return Episode(word & 0x3FFFFFFFu, ret, word >> 30); }

#ifdef ENV_WORD
#define OBSERVATION float[STATE_SIZE]
#define OBSERVED_SIZE STATE_SIZE
#define OBSERVE(s, obs) obs = s
#else
#define OBSERVATION uint[OBS_WORDS]
#define OBSERVED_SIZE OBS_WORDS
#define OBSERVE(s, obs) env_observe(s, obs)
#endif

// episode_advance takes one action. next_obs is the true observation after it; obs is the one to act on next: the first
// observation of the new episode if the step also reset, else next_obs. done is a set of DONE_* flags.
void episode_advance(inout float s[STATE_SIZE], inout Episode ep, uint action, inout Rng rng, out float reward, out uint done,
                     out OBSERVATION next_obs, out OBSERVATION obs) {
    reward = 0.0;
    done = 0u;
    bool resets = false;
    if (ep.done != 0u && AUTO_RESET == AUTO_RESET_DISABLED) {
        done = ep.done | DONE_VOID;
    } else {
        if (ep.done != 0u) ep = Episode(0u, 0.0, 0u);
        bool terminated, truncated;
        uint taken = 0u;
        do {
            float r;
            env_step(s, action, rng, r, terminated);
            reward += r;
            ep.step++;
            truncated = TIME_LIMIT != 0u && ep.step >= TIME_LIMIT;
            taken++;
        } while (ACTION_REPEAT > 1u && taken < ACTION_REPEAT && !terminated && !truncated);
        float sum = reward;
        [[unroll]] for (uint f = 0u; f < STATE_SIZE; f++) sum += s[f];
        bool finite = m_isfinite(sum);
        reward = m_isfinite(reward) ? reward : 0.0;
        ep.ret += reward;
        ep.done = (terminated || !finite ? DONE_TERMINATED : 0u) | (truncated ? DONE_TRUNCATED : 0u);
        done = ep.done | (finite ? 0u : DONE_DIVERGED);
        resets = AUTO_RESET != AUTO_RESET_DISABLED && done != 0u;
        if (SPARSE_REWARD) reward = done != 0u ? ep.ret : 0.0;
        reward *= REWARD_SCALE;
    }
    // Observations before and after a reset are one place in the text, which drivers compile faster than two.
    [[dont_unroll]] for (bool first = true;; first = false) {
        OBSERVE(s, obs);
        [[unroll]] for (uint w = 0u; w < OBSERVED_SIZE; w++) next_obs[w] = first ? obs[w] : next_obs[w];
        if (!resets || !first) break;
        // The first state is not stored: its random numbers come from counters, so the initial reset is repeated.
        if (AUTO_RESET == AUTO_RESET_FAST) rng = rng_new(rng.key.x, rng.key.y, rng.counter.x, rng.counter.y, 0u);
        env_reset(s, rng);
    }
}
