// environment: MinAtar-Asterix-v1
//
// A player collects gold and avoids enemies, in eight rows. The rules are those of MinAtar (envs/minatar.glsl); a step draws the
// sticky action and, where something appears, its direction, whether it is gold, and its row among the free ones.

#define STATE_SIZE 17
#define OBS_SIZE 400
#define OBS_WORDS 13
#define ACTION_SIZE 5
#define DISCRETE 1

#define CHANNELS 4u
#define MINIMAL_ACTIONS 0x43210u // none, left, up, right, down
#include "envs/minatar.glsl"

const uint PLAYER = 0u, ENEMY = 1u, TRAIL = 2u, GOLD = 3u; // channels

const float SPAWN_SPEED = 10.0, MOVE_SPEED = 5.0, RAMP_INTERVAL = 100.0;

// Row i + 1 has at most one thing: 0 is none, otherwise 1 + its column + 10 if it moves to the right + 20 if it is gold.
const int S_LAST_ACTION = 0, S_X = 1, S_Y = 2, S_SPAWN_SPEED = 3, S_SPAWN_TIMER = 4, S_MOVE_SPEED = 5, S_MOVE_TIMER = 6, S_RAMP_TIMER = 7,
          S_RAMP_INDEX = 8, S_ROW = 9;

struct Thing {
    bool there, right, gold;
    float x;
};

Thing unpack(float code) {
    uint k = max(uint(code), 1u) - 1u;
    return Thing(code != 0.0, k / 10u % 2u == 1u, k >= 20u, float(k % 10u));
}

float pack(Thing t) { return t.there ? 1.0 + t.x + (t.right ? 10.0 : 0.0) + (t.gold ? 20.0 : 0.0) : 0.0; }

void env_reset(inout float s[STATE_SIZE], inout Rng rng) {
    float last = s[S_LAST_ACTION];
    [[unroll]] for (uint f = 0u; f < STATE_SIZE; f++) s[f] = 0.0;
    s[S_LAST_ACTION] = last;
    s[S_X] = s[S_Y] = 5.0;
    s[S_SPAWN_SPEED] = s[S_SPAWN_TIMER] = SPAWN_SPEED;
    s[S_MOVE_SPEED] = s[S_MOVE_TIMER] = MOVE_SPEED;
    s[S_RAMP_TIMER] = RAMP_INTERVAL;
}

void spawn(inout float s[STATE_SIZE], inout Rng rng) {
    bool right = rng_uniform(rng) < 0.5, gold = rng_uniform(rng) < 1.0 / 3.0;
    uint vacant = 0u;
    [[unroll]] for (int i = 0; i < 8; i++) vacant += s[S_ROW + i] == 0.0 ? 1u : 0u;
    if (vacant == 0u) return;
    uint turn = rng_below(rng, vacant);
    float thing = pack(Thing(true, right, gold, right ? 0.0 : 9.0));
    [[unroll]] for (int i = 0; i < 8; i++) {
        bool chosen = s[S_ROW + i] == 0.0 && turn == 0u;
        if (s[S_ROW + i] == 0.0) turn--; // beyond 0 after the chosen one, and never 0 again
        if (chosen) s[S_ROW + i] = thing;
    }
}

// What the player meets in row i + 1.
void meet(inout float s[STATE_SIZE], int i, inout float reward, inout bool terminated) {
    Thing t = unpack(s[S_ROW + i]);
    if (t.there && s[S_Y] == float(i + 1) && t.x == s[S_X]) {
        if (t.gold) {
            reward += 1.0;
            s[S_ROW + i] = 0.0;
        } else {
            terminated = true;
        }
    }
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    uint a = execute(action, s[S_LAST_ACTION], rng);
    reward = 0.0;
    terminated = false;
    if (s[S_SPAWN_TIMER] == 0.0) {
        spawn(s, rng);
        s[S_SPAWN_TIMER] = s[S_SPAWN_SPEED];
    }
    s[S_X] = clamp(s[S_X] + (a == LEFT ? -1.0 : a == RIGHT ? 1.0 : 0.0), 0.0, 9.0);
    s[S_Y] = clamp(s[S_Y] + (a == UP ? -1.0 : a == DOWN ? 1.0 : 0.0), 1.0, 8.0);
    [[unroll]] for (int i = 0; i < 8; i++) meet(s, i, reward, terminated);
    if (s[S_MOVE_TIMER] == 0.0) {
        s[S_MOVE_TIMER] = s[S_MOVE_SPEED];
        [[unroll]] for (int i = 0; i < 8; i++) {
            Thing t = unpack(s[S_ROW + i]);
            t.x += t.right ? 1.0 : -1.0;
            t.there = t.there && t.x >= 0.0 && t.x <= 9.0;
            s[S_ROW + i] = pack(t);
            meet(s, i, reward, terminated);
        }
    }
    s[S_SPAWN_TIMER] -= 1.0;
    s[S_MOVE_TIMER] -= 1.0;
    if (RAMPING && (s[S_SPAWN_SPEED] > 1.0 || s[S_MOVE_SPEED] > 1.0)) {
        if (s[S_RAMP_TIMER] >= 0.0) {
            s[S_RAMP_TIMER] -= 1.0;
        } else {
            if (s[S_MOVE_SPEED] > 1.0 && uint(s[S_RAMP_INDEX]) % 2u == 1u) s[S_MOVE_SPEED] -= 1.0;
            if (s[S_SPAWN_SPEED] > 1.0) s[S_SPAWN_SPEED] -= 1.0;
            s[S_RAMP_INDEX] += 1.0;
            s[S_RAMP_TIMER] = RAMP_INTERVAL;
        }
    }
}

void env_observe(const float s[STATE_SIZE], out uint obs[OBS_WORDS]) {
    [[unroll]] for (uint w = 0u; w < OBS_WORDS; w++) obs[w] = 0u;
    board_set(obs, board_at(uint(s[S_X]), uint(s[S_Y]), PLAYER));
    [[unroll]] for (uint i = 0u; i < 8u; i++) {
        Thing t = unpack(s[S_ROW + i]);
        float behind = t.x - (t.right ? 1.0 : -1.0);
        if (t.there) board_row(obs, 10u * CHANNELS * (i + 1u), uint(t.x) * CHANNELS + (t.gold ? GOLD : ENEMY));
        if (t.there && behind >= 0.0 && behind <= 9.0) board_row(obs, 10u * CHANNELS * (i + 1u), uint(behind) * CHANNELS + TRAIL);
    }
}
