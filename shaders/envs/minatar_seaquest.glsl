// environment: MinAtar-Seaquest-v1
//
// A submarine shoots fish and other submarines, picks divers up, and has to surface for oxygen with at least one of them. The rules are those
// of MinAtar (envs/minatar.glsl). A step draws the sticky action, then for an enemy that appears its direction, whether it is a submarine, and
// its row, then for a diver its direction and row.

#define STATE_SIZE 58
#define OBS_SIZE 1000
#define OBS_WORDS 32
#define ACTION_SIZE 6
#define DISCRETE 1

#define CHANNELS 10u
#define MINIMAL_ACTIONS 0x543210u // all
#include "envs/minatar.glsl"

const uint FRONT = 0u, BACK = 1u, FRIENDLY_BULLET = 2u, TRAIL = 3u, ENEMY_BULLET = 4u, FISH = 5u, SUBMARINE = 6u, OXYGEN = 7u, DIVERS = 8u,
           DIVER = 9u; // channels

const float MOST_OXYGEN = 200.0, SPAWN_SPEED = 20.0, DIVER_SPAWN_SPEED = 30.0, MOVE_SPEED = 5.0, LEAST_MOVE_SPEED = 2.0, COOL_DOWN = 5.0,
            MOST_DIVERS = 6.0;
const uint DIVER_MOVE_SPEED = 5u, SHOT_INTERVAL = 10u;

const uint NOWHERE = 1024u; // a bit that is in no word of an observation

const int S_LAST_ACTION = 0, S_X = 1, S_Y = 2, S_RIGHT = 3, S_OXYGEN = 4, S_SURFACED = 5, S_CARRIED = 6, S_SPAWN_SPEED = 7, S_SPAWN_TIMER = 8,
          S_DIVER_TIMER = 9, S_MOVE_SPEED = 10, S_RAMP_INDEX = 11, S_COOL_DOWN = 12, S_ROWS = 13, S_ENEMY_BULLETS = 14, S_THINGS = 22;

// S_ROWS has a bit for each of the rows 1 to 8 with enemies that move to the left, then for those to the right. S_ENEMY_BULLETS are these rows,
// with a bit for each column of bullets to the left, then of those to the right.
//
// Things have an element each (pack), and are in the order of their appearance, the newest first; 0 is none. The first two are the player's bullets,
// the next two divers. There are never more: a bullet leaves the board in its ninth step at the latest, and the next but one is fired in the
// eleventh; a diver in its 60th, and the next but one appears in the 61st. Bullets never meet, since the player is not faster than they are.
//
// Then come the enemies. At most one appears in a step, when each stays for 30. No two enter a cell in the same step, so they may move in any
// order: those of a row move one way and at one speed, unless they appeared before it last changed, but those appeared 14 steps apart or more.
const int S_BULLET = S_THINGS, S_DIVER = S_THINGS + 2, S_ENEMY = S_THINGS + 4;
const uint ENEMIES = 32u, TURN = 4u; // TURN: how many enemies an iteration of a loop takes

struct Thing {
    uint channel, x, y; // x above 9 is off the board
    bool right;
    uint move_timer, shot_timer;
};

Thing unpack(float code) {
    uint k = uint(code);
    return Thing(k >> 9 & 15u, k & 15u, k >> 4 & 15u, (k >> 8 & 1u) != 0u, k >> 13 & 7u, k >> 16 & 15u);
}

float pack(Thing t) { return float(t.x | t.y << 4 | (t.right ? 256u : 0u) | t.channel << 9 | t.move_timer << 13 | t.shot_timer << 16); }

bool same_cell(float a, float b) { return a != 0.0 && b != 0.0 && ((uint(a) ^ uint(b)) & 255u) == 0u; }

uint ahead(Thing t) { return (t.right ? t.x + 1u : t.x - 1u) & 15u; }

uint behind(Thing t) { return (t.right ? t.x - 1u : t.x + 1u) & 15u; }

bool at_player(const float s[STATE_SIZE], Thing t) { return float(t.x) == s[S_X] && float(t.y) == s[S_Y]; }

void env_reset(inout float s[STATE_SIZE], inout Rng rng) {
    float last = s[S_LAST_ACTION];
    [[unroll]] for (uint f = 0u; f < STATE_SIZE; f++) s[f] = 0.0;
    s[S_LAST_ACTION] = last;
    s[S_X] = 5.0;
    s[S_OXYGEN] = MOST_OXYGEN;
    s[S_SURFACED] = 1.0;
    s[S_SPAWN_SPEED] = s[S_SPAWN_TIMER] = SPAWN_SPEED;
    s[S_DIVER_TIMER] = DIVER_SPAWN_SPEED;
    s[S_MOVE_SPEED] = MOVE_SPEED;
}

// An enemy appears unless one in its row goes the other way.
void spawn_enemy(inout float s[STATE_SIZE], inout Rng rng) {
    bool right = rng_uniform(rng) < 0.5, submarine = rng_uniform(rng) < 1.0 / 3.0;
    uint row = rng_below(rng, 8u);
    if ((uint(s[S_ROWS]) >> (right ? row : row + 8u) & 1u) != 0u) return;
    float next =
        pack(Thing(submarine ? SUBMARINE : FISH, right ? 0u : 9u, row + 1u, right, uint(s[S_MOVE_SPEED]), submarine ? SHOT_INTERVAL : 0u));
    [[unroll]] for (uint i = 0u; i < ENEMIES; i++) { // the later ones take the next place as far as the first that is empty
        float here = s[S_ENEMY + i];
        s[S_ENEMY + i] = next != 0.0 ? next : here;
        next = next != 0.0 ? here : 0.0;
    }
}

void spawn_diver(inout float s[STATE_SIZE], inout Rng rng) {
    bool right = rng_uniform(rng) < 0.5;
    s[S_DIVER + 1] = s[S_DIVER];
    s[S_DIVER] = pack(Thing(DIVER, right ? 0u : 9u, 1u + rng_below(rng, 8u), right, DIVER_MOVE_SPEED, 0u));
}

void move_player(inout float s[STATE_SIZE], uint action) {
    if (action == FIRE && s[S_COOL_DOWN] == 0.0) {
        s[S_BULLET + 1] = s[S_BULLET];
        s[S_BULLET] = pack(Thing(FRIENDLY_BULLET, uint(s[S_X]), uint(s[S_Y]), s[S_RIGHT] != 0.0, 0u, 0u));
        s[S_COOL_DOWN] = COOL_DOWN;
    }
    if (action == LEFT || action == RIGHT) s[S_RIGHT] = action == RIGHT ? 1.0 : 0.0;
    s[S_X] = clamp(s[S_X] + (action == LEFT ? -1.0 : action == RIGHT ? 1.0 : 0.0), 0.0, 9.0);
    s[S_Y] = clamp(s[S_Y] + (action == UP ? -1.0 : action == DOWN ? 1.0 : 0.0), 0.0, 8.0);
}

// Enemies take turns at the first TURN places: these go to the end, and all the others up. After ENEMIES / TURN times all are where they were.
void turn(inout float s[STATE_SIZE]) {
    float first[TURN];
    [[unroll]] for (uint k = 0u; k < TURN; k++) first[k] = s[S_ENEMY + k];
    [[unroll]] for (uint i = 0u; i < ENEMIES - TURN; i++) s[S_ENEMY + i] = s[S_ENEMY + i + TURN];
    [[unroll]] for (uint k = 0u; k < TURN; k++) s[S_ENEMY + ENEMIES - TURN + k] = first[k];
}

// The player's bullets move. hit becomes the enemy that each hits, the oldest fish of its cell, else the oldest submarine, or ENEMIES.
void move_bullets(inout float s[STATE_SIZE], inout float reward, out uint hit[2]) {
    uint found[2]; // 0, or ENEMIES + the enemy, and twice ENEMIES more if it is a fish
    [[unroll]] for (int b = 0; b < 2; b++) {
        Thing t = unpack(s[S_BULLET + b]);
        t.x = ahead(t);
        s[S_BULLET + b] = t.channel != 0u && t.x < 10u ? pack(t) : 0.0;
        found[b] = 0u;
    }
    [[dont_unroll]] for (uint i = 0u; i < ENEMIES; i += TURN) {
        [[unroll]] for (uint k = 0u; k < TURN; k++) {
            float enemy = s[S_ENEMY + k];
            uint rank = (unpack(enemy).channel == FISH ? 3u : 1u) * ENEMIES + i + k;
            [[unroll]] for (int b = 0; b < 2; b++) found[b] = same_cell(enemy, s[S_BULLET + b]) ? max(found[b], rank) : found[b];
        }
        turn(s);
    }
    [[unroll]] for (int b = 0; b < 2; b++) {
        hit[b] = found[b] == 0u ? ENEMIES : found[b] % ENEMIES;
        s[S_BULLET + b] = found[b] == 0u ? s[S_BULLET + b] : 0.0;
        reward += found[b] == 0u ? 0.0 : 1.0;
    }
}

void move_divers(inout float s[STATE_SIZE]) {
    [[unroll]] for (int d = 0; d < 2; d++) {
        Thing t = unpack(s[S_DIVER + d]);
        bool room = t.channel != 0u && s[S_CARRIED] < MOST_DIVERS, picked = room && at_player(s, t), moves = !picked && t.move_timer == 0u;
        t.x = moves ? ahead(t) : t.x;
        t.move_timer = moves ? DIVER_MOVE_SPEED : (t.move_timer - 1u) & 7u;
        picked = room && (picked || at_player(s, t));
        s[S_CARRIED] += picked ? 1.0 : 0.0;
        s[S_DIVER + d] = picked || t.channel == 0u || t.x > 9u ? 0.0 : pack(t);
    }
}

// Enemies move, except those that have been hit, and submarines fire. Without branches, since drivers would keep all enemies for each.
void move_enemies(inout float s[STATE_SIZE], const uint hit[2], inout uint bullets[8], inout float reward, inout bool terminated) {
    uint rows = 0u;
    [[dont_unroll]] for (uint i = 0u; i < ENEMIES; i += TURN) {
        [[unroll]] for (uint k = 0u; k < TURN; k++) {
            Thing t = unpack(s[S_ENEMY + k]);
            bool there = t.channel != 0u && hit[0] != i + k && hit[1] != i + k;
            bool meets = at_player(s, t), moves = t.move_timer == 0u;
            t.x = moves ? ahead(t) : t.x;
            t.move_timer = moves ? uint(s[S_MOVE_SPEED]) : t.move_timer - 1u;
            meets = meets || at_player(s, t);
            terminated = terminated || there && meets;

            bool submarine = there && t.channel == SUBMARINE, fires = submarine && t.shot_timer == 0u;
            t.shot_timer = fires ? SHOT_INTERVAL : submarine ? t.shot_timer - 1u : 0u;
            uint bullet = fires && t.x < 10u ? 1u << (t.right ? t.x + 10u : t.x) : 0u;
            [[unroll]] for (uint row = 0u; row < 8u; row++) bullets[row] |= t.y == row + 1u ? bullet : 0u;

            float code = pack(t);
            [[unroll]] for (int b = 0; b < 2; b++) {
                bool meets_bullet = there && moves && same_cell(code, s[S_BULLET + b]) && !at_player(s, t);
                s[S_BULLET + b] = meets_bullet ? 0.0 : s[S_BULLET + b];
                reward += meets_bullet ? 1.0 : 0.0;
                there = there && !meets_bullet;
            }
            there = there && t.x < 10u;
            s[S_ENEMY + k] = there ? code : 0.0;
            rows |= there ? 1u << (t.right ? t.y + 7u : t.y - 1u) : 0u;
        }
        turn(s);
    }
    s[S_ROWS] = float(rows);
}

void move_enemy_bullets(inout float s[STATE_SIZE], const uint bullets[8], inout bool terminated) {
    uint player = 1025u << uint(s[S_X]);
    [[unroll]] for (int row = 0; row < 8; row++) {
        uint next = bullets[row] >> 1 & 511u | bullets[row] << 1 & 0xFF800u;
        terminated = terminated || s[S_Y] == float(row + 1) && ((bullets[row] | next) & player) != 0u;
        s[S_ENEMY_BULLETS + row] = float(next);
    }
}

uint tenths(float oxygen) { return uint(max(oxygen, 0.0)) * 10u / uint(MOST_OXYGEN); }

// The player has come to the surface with divers, or with -1: a full load of six leaves it so.
void surface(inout float s[STATE_SIZE], inout float reward) {
    if (s[S_CARRIED] == MOST_DIVERS) {
        s[S_CARRIED] = 0.0;
        reward += float(tenths(s[S_OXYGEN]));
    }
    s[S_CARRIED] -= 1.0;
    s[S_OXYGEN] = MOST_OXYGEN;
    s[S_SURFACED] = 1.0;
    if (RAMPING && (s[S_SPAWN_SPEED] > 1.0 || s[S_MOVE_SPEED] > LEAST_MOVE_SPEED)) {
        if (s[S_MOVE_SPEED] > LEAST_MOVE_SPEED && uint(s[S_RAMP_INDEX]) % 2u == 1u) s[S_MOVE_SPEED] -= 1.0;
        if (s[S_SPAWN_SPEED] > 1.0) s[S_SPAWN_SPEED] -= 1.0;
        s[S_RAMP_INDEX] += 1.0;
    }
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    uint a = execute(action, s[S_LAST_ACTION], rng);
    reward = 0.0;
    terminated = false;
    if (s[S_SPAWN_TIMER] == 0.0) {
        spawn_enemy(s, rng);
        s[S_SPAWN_TIMER] = s[S_SPAWN_SPEED];
    }
    if (s[S_DIVER_TIMER] == 0.0) {
        spawn_diver(s, rng);
        s[S_DIVER_TIMER] = DIVER_SPAWN_SPEED;
    }
    move_player(s, a);
    uint hit[2], bullets[8];
    move_bullets(s, reward, hit);
    move_divers(s);
    [[unroll]] for (int row = 0; row < 8; row++) bullets[row] = uint(s[S_ENEMY_BULLETS + row]);
    move_enemies(s, hit, bullets, reward, terminated);
    move_enemy_bullets(s, bullets, terminated);
    s[S_SPAWN_TIMER] -= 1.0;
    s[S_DIVER_TIMER] -= 1.0;
    if (s[S_COOL_DOWN] > 0.0) s[S_COOL_DOWN] -= 1.0;
    terminated = terminated || s[S_OXYGEN] <= 0.0;
    if (s[S_Y] > 0.0) {
        s[S_OXYGEN] -= 1.0;
        s[S_SURFACED] = 0.0;
    } else if (s[S_SURFACED] == 0.0) {
        if (s[S_CARRIED] == 0.0) {
            terminated = true;
        } else {
            surface(s, reward);
        }
    }
}

void env_observe(const float s[STATE_SIZE], out uint obs[OBS_WORDS]) {
    [[unroll]] for (uint w = 0u; w < OBS_WORDS; w++) obs[w] = 0u;
    const uint things = STATE_SIZE - S_THINGS;
    float queue[things];
    [[unroll]] for (uint i = 0u; i < things; i++) queue[i] = s[S_THINGS + i];
    [[dont_unroll]] for (uint turn = 0u; turn < things; turn += 2u) {
        [[unroll]] for (uint k = 0u; k < 2u; k++) {
            Thing t = unpack(queue[k]);
            board_set(obs, t.channel != 0u ? board_at(t.x, t.y, t.channel) : NOWHERE);
            board_set(obs, t.channel > FRIENDLY_BULLET && behind(t) < 10u ? board_at(behind(t), t.y, TRAIL) : NOWHERE);
        }
        [[unroll]] for (uint i = 0u; i < things - 2u; i++) queue[i] = queue[i + 2u];
    }
    [[unroll]] for (uint row = 0u; row < 8u; row++) {
        uint bullets = uint(s[S_ENEMY_BULLETS + row]);
        bullets |= bullets >> 10;
        [[unroll]] for (uint c = 0u; c < 10u; c++) {
            uint k = board_at(c, row + 1u, ENEMY_BULLET);
            obs[k >> 5] |= (bullets >> c & 1u) << (k & 31u);
        }
    }
    uint x = uint(s[S_X]), y = uint(s[S_Y]), oxygen = tenths(s[S_OXYGEN]);
    board_set(obs, board_at(x, y, FRONT));
    board_set(obs, board_at(s[S_RIGHT] != 0.0 ? x - 1u : x + 1u, y, BACK));
    [[unroll]] for (uint c = 0u; c < 10u; c++) {
        uint gauges = (c < oxygen ? 1u : 0u) << OXYGEN | (c < 9u && float(c) + s[S_CARRIED] >= 9.0 ? 1u : 0u) << DIVERS;
        uint k = board_at(c, 9u, 0u);
        obs[k >> 5] |= gauges << (k & 31u);
        if ((k & 31u) > 32u - CHANNELS) obs[(k >> 5) + 1u] |= gauges >> (32u - (k & 31u));
    }
}
