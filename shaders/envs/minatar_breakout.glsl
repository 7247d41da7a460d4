// environment: MinAtar-Breakout-v1
//
// A ball breaks the bricks of three rows and is kept from the floor by a paddle. The rules are those of MinAtar
// (envs/minatar.glsl); a step draws the sticky action and, where an episode begins, the ball's side.

#define STATE_SIZE 11
#define OBS_SIZE 400
#define OBS_WORDS 13
#define ACTION_SIZE 3
#define DISCRETE 1

#define CHANNELS 4u
#define MINIMAL_ACTIONS 0x310u // none, left, right
#include "envs/minatar.glsl"

const uint PADDLE = 0u, BALL = 1u, TRAIL = 2u, BRICK = 3u; // channels

// The directions of the ball are 0 up left, 1 up right, 2 down right, 3 down left. The rows of bricks have a bit for each column.
const int S_LAST_ACTION = 0, S_PADDLE = 1, S_X = 2, S_Y = 3, S_DIRECTION = 4, S_TRAIL_X = 5, S_TRAIL_Y = 6, S_STRIKE = 7, S_BRICKS = 8;

void env_reset(inout float s[STATE_SIZE], inout Rng rng) {
    bool left = rng_below(rng, 2u) == 0u;
    s[S_PADDLE] = 4.0;
    s[S_X] = s[S_TRAIL_X] = left ? 0.0 : 9.0;
    s[S_Y] = s[S_TRAIL_Y] = 3.0;
    s[S_DIRECTION] = left ? 2.0 : 3.0;
    s[S_STRIKE] = 0.0;
    s[S_BRICKS] = s[S_BRICKS + 1] = s[S_BRICKS + 2] = 1023.0;
}

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    uint a = execute(action, s[S_LAST_ACTION], rng);
    if (a == LEFT) s[S_PADDLE] = max(s[S_PADDLE] - 1.0, 0.0);
    if (a == RIGHT) s[S_PADDLE] = min(s[S_PADDLE] + 1.0, 9.0);
    reward = 0.0;
    terminated = false;

    uint direction = uint(s[S_DIRECTION]);
    float last_x = s[S_X], last_y = s[S_Y];
    float x = last_x + (direction == 1u || direction == 2u ? 1.0 : -1.0);
    float y = last_y + (direction >= 2u ? 1.0 : -1.0);
    if (x < 0.0 || x > 9.0) {
        x = clamp(x, 0.0, 9.0);
        direction ^= 1u;
    }
    uint bricks = uint(y == 1.0 ? s[S_BRICKS] : y == 2.0 ? s[S_BRICKS + 1] : y == 3.0 ? s[S_BRICKS + 2] : 0.0);
    uint brick = bricks & 1u << uint(x);
    bool strikes = false;
    if (y < 0.0) {
        y = 0.0;
        direction = 3u - direction;
    } else if (brick != 0u) {
        strikes = true;
        if (s[S_STRIKE] == 0.0) {
            reward = 1.0;
            float left = float(bricks ^ brick);
            [[unroll]] for (int row = 0; row < 3; row++) s[S_BRICKS + row] = y == float(row + 1) ? left : s[S_BRICKS + row];
            y = last_y;
            direction = 3u - direction;
        }
    } else if (y == 9.0) {
        if (s[S_BRICKS] + s[S_BRICKS + 1] + s[S_BRICKS + 2] == 0.0) s[S_BRICKS] = s[S_BRICKS + 1] = s[S_BRICKS + 2] = 1023.0;
        if (last_x == s[S_PADDLE]) {
            direction = 3u - direction;
            y = last_y;
        } else if (x == s[S_PADDLE]) {
            direction ^= 2u;
            y = last_y;
        } else {
            terminated = true;
        }
    }
    s[S_STRIKE] = strikes ? 1.0 : 0.0;
    s[S_X] = x;
    s[S_Y] = y;
    s[S_DIRECTION] = float(direction);
    s[S_TRAIL_X] = last_x;
    s[S_TRAIL_Y] = last_y;
}

void env_observe(const float s[STATE_SIZE], out uint obs[OBS_WORDS]) {
    [[unroll]] for (uint w = 0u; w < OBS_WORDS; w++) obs[w] = 0u;
    [[unroll]] for (uint row = 0u; row < 3u; row++) {
        uint bricks = uint(s[S_BRICKS + row]);
        [[unroll]] for (uint x = 0u; x < 10u; x++) {
            uint k = board_at(x, row + 1u, BRICK);
            obs[k >> 5] |= (bricks >> x & 1u) << (k & 31u);
        }
    }
    board_set(obs, board_at(uint(s[S_PADDLE]), 9u, PADDLE));
    board_set(obs, board_at(uint(s[S_X]), uint(s[S_Y]), BALL));
    board_set(obs, board_at(uint(s[S_TRAIL_X]), uint(s[S_TRAIL_Y]), TRAIL));
}
