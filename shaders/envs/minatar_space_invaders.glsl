// environment: MinAtar-SpaceInvaders-v1
//
// A cannon shoots aliens that come down. The rules are those of MinAtar (envs/minatar.glsl); a step draws the sticky action.

#define STATE_SIZE 37
#define OBS_SIZE 600
#define OBS_WORDS 19
#define ACTION_SIZE 4
#define DISCRETE 1

#define CHANNELS 6u
#define MINIMAL_ACTIONS 0x5310u // none, left, right, fire
#include "envs/minatar.glsl"

const uint CANNON = 0u, ALIEN = 1u, ALIEN_LEFT = 2u, ALIEN_RIGHT = 3u, FRIENDLY_BULLET = 4u, ENEMY_BULLET = 5u; // channels

const float MOVE_INTERVAL = 12.0, LEAST_INTERVAL = 6.0, SHOT_INTERVAL = 10.0, COOL_DOWN = 5.0;

// Boards are ten rows, each with a bit for each column.
const int S_LAST_ACTION = 0, S_X = 1, S_DIRECTION = 2, S_INTERVAL = 3, S_MOVE_TIMER = 4, S_ALIEN_TIMER = 5, S_COOL_DOWN = 6, S_ALIENS = 7, S_FRIENDLY = 17,
          S_ENEMY = 27;

void place_aliens(inout float s[STATE_SIZE]) {
    [[unroll]] for (int y = 0; y < 10; y++) s[S_ALIENS + y] = y < 4 ? 252.0 : 0.0; // columns 2 to 7
}

void env_reset(inout float s[STATE_SIZE], inout Rng rng) {
    float last = s[S_LAST_ACTION];
    [[unroll]] for (uint f = 0u; f < STATE_SIZE; f++) s[f] = 0.0;
    s[S_LAST_ACTION] = last;
    s[S_X] = 5.0;
    s[S_DIRECTION] = -1.0;
    s[S_INTERVAL] = s[S_MOVE_TIMER] = MOVE_INTERVAL;
    s[S_ALIEN_TIMER] = SHOT_INTERVAL;
    place_aliens(s);
}

// The row of a board that begins at element `board`, at the cannon.
bool at_cannon(const float s[STATE_SIZE], int board) { return (uint(s[board + 9]) >> uint(s[S_X]) & 1u) != 0u; }

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    uint a = execute(action, s[S_LAST_ACTION], rng);
    reward = 0.0;
    terminated = false;
    uint cannon = uint(s[S_X]);
    if (a == FIRE && s[S_COOL_DOWN] == 0.0) {
        s[S_FRIENDLY + 9] = float(uint(s[S_FRIENDLY + 9]) | 1u << cannon);
        s[S_COOL_DOWN] = COOL_DOWN;
    }
    if (a == LEFT) s[S_X] = max(s[S_X] - 1.0, 0.0);
    if (a == RIGHT) s[S_X] = min(s[S_X] + 1.0, 9.0);
    cannon = uint(s[S_X]);

    [[unroll]] for (int y = 0; y < 9; y++) s[S_FRIENDLY + y] = s[S_FRIENDLY + y + 1];
    s[S_FRIENDLY + 9] = 0.0;
    [[unroll]] for (int y = 9; y > 0; y--) s[S_ENEMY + y] = s[S_ENEMY + y - 1];
    s[S_ENEMY] = 0.0;
    terminated = at_cannon(s, S_ENEMY) || at_cannon(s, S_ALIENS);

    uint columns = 0u, count = 0u;
    [[unroll]] for (int y = 0; y < 10; y++) {
        columns |= uint(s[S_ALIENS + y]);
        count += bitCount(uint(s[S_ALIENS + y]));
    }
    if (s[S_MOVE_TIMER] == 0.0) {
        s[S_MOVE_TIMER] = min(float(count), s[S_INTERVAL]);
        bool left = s[S_DIRECTION] < 0.0;
        if ((columns & (left ? 1u : 512u)) != 0u) {
            s[S_DIRECTION] = -s[S_DIRECTION];
            float lowest = s[S_ALIENS + 9];
            terminated = terminated || lowest != 0.0;
            [[unroll]] for (int y = 9; y > 0; y--) s[S_ALIENS + y] = s[S_ALIENS + y - 1];
            s[S_ALIENS] = lowest;
        } else {
            columns = left ? columns >> 1 : columns << 1;
            [[unroll]] for (int y = 0; y < 10; y++) {
                uint row = uint(s[S_ALIENS + y]);
                s[S_ALIENS + y] = float(left ? row >> 1 : row << 1);
            }
        }
        terminated = terminated || at_cannon(s, S_ALIENS);
    }
    if (s[S_ALIEN_TIMER] == 0.0) {
        s[S_ALIEN_TIMER] = SHOT_INTERVAL;
        // The nearest column with aliens, the left one of two.
        uint here = columns & (2u << cannon) - 1u, beyond = columns >> cannon;
        int to_left = here != 0u ? int(cannon) - findMSB(here) : 99, to_right = beyond != 0u ? findLSB(beyond) : 99;
        uint shooter = 1u << uint(to_left <= to_right ? int(cannon) - to_left : int(cannon) + to_right);
        bool found = false;
        [[unroll]] for (int y = 9; y >= 0; y--) {
            bool shoots = !found && (uint(s[S_ALIENS + y]) & shooter) != 0u;
            if (shoots) s[S_ENEMY + y] = float(uint(s[S_ENEMY + y]) | shooter);
            found = found || shoots;
        }
    }
    count = 0u;
    [[unroll]] for (int y = 0; y < 10; y++) {
        uint aliens = uint(s[S_ALIENS + y]), bullets = uint(s[S_FRIENDLY + y]), killed = aliens & bullets;
        reward += float(bitCount(killed));
        count += bitCount(aliens ^ killed);
        s[S_ALIENS + y] = float(aliens ^ killed);
        s[S_FRIENDLY + y] = float(bullets ^ killed);
    }
    if (s[S_COOL_DOWN] > 0.0) s[S_COOL_DOWN] -= 1.0;
    s[S_MOVE_TIMER] -= 1.0;
    s[S_ALIEN_TIMER] -= 1.0;
    if (count == 0u) {
        if (RAMPING && s[S_INTERVAL] > LEAST_INTERVAL) s[S_INTERVAL] -= 1.0;
        place_aliens(s);
    }
}

void env_observe(const float s[STATE_SIZE], out uint obs[OBS_WORDS]) {
    [[unroll]] for (uint w = 0u; w < OBS_WORDS; w++) obs[w] = 0u;
    board_set(obs, board_at(uint(s[S_X]), 9u, CANNON));
    bool left = s[S_DIRECTION] < 0.0;
    [[unroll]] for (uint y = 0u; y < 10u; y++) {
        uint aliens = uint(s[S_ALIENS + y]), friendly = uint(s[S_FRIENDLY + y]), enemy = uint(s[S_ENEMY + y]);
        [[unroll]] for (uint x = 0u; x < 10u; x++) {
            uint alien = aliens >> x & 1u;
            uint cell = alien << ALIEN | alien << (left ? ALIEN_LEFT : ALIEN_RIGHT) | (friendly >> x & 1u) << FRIENDLY_BULLET |
                        (enemy >> x & 1u) << ENEMY_BULLET;
            uint k = board_at(x, y, 0u);
            obs[k >> 5] |= cell << (k & 31u);
            if ((k & 31u) > 26u) obs[(k >> 5) + 1u] |= cell >> (32u - (k & 31u));
        }
    }
}
