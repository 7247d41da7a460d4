// Pong between two bats, by Lamarckian's rules: an arena of 160 x 160, whose y is from 34 to 194 and points down. Player 0 has the left bat.
//
// The rules leave open what is decided here: a bat that would leave the arena stops at its edge, and what it adds to the ball's speed is 0.7 of the way it
// went in this step; the ball meets a bat where its rectangle, of whole numbers, overlaps the bat's after a step from before the bat's front; a
// round of 1000 steps without a score is over; the places of the ball before a round's first are that place.
//
// The includer has defined ROUNDS, of a game, and STATE_SIZE, 16 or more.

#include "engine/rng.glsl"
#include "envs/options.glsl"

// The state: the top of each bat, the ball's last four places (x, then y, oldest first), its velocity, scores, steps of the round, rounds.
const uint S_BAT = 0u, S_X = 2u, S_Y = 6u, S_VX = 10u, S_VY = 11u, S_SCORE = 12u, S_TIME = 14u, S_ROUND = 15u, NOW = 3u;

const float ROUND_STEPS = 1000.0;
const float TOP = 34.0, BOTTOM = 194.0, WIDTH = 160.0;
const float BAT_WIDTH = 5.0, BAT_HEIGHT = 15.0, BAT_SPEED = 4.0, BAT_START = 107.0, BAT_LEFT = 16.0, BAT_RIGHT = 139.0;
const float BALL = 4.0, BALL_SPEED = 4.0, SPIN = 0.7;

void pong_serve(inout float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        s[S_X + i] = 78.0;
        s[S_Y + i] = 112.0;
    }
    s[S_VX] = rng_uniform(rng) < 0.5 ? -BALL_SPEED : BALL_SPEED;
    float side = rng_uniform(rng) < 0.5 ? -1.0 : 1.0;
    s[S_VY] = side * rng_uniform(rng, 1.2, 4.0);
    s[S_TIME] = 0.0;
}

void pong_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[S_BAT] = s[S_BAT + 1u] = BAT_START;
    s[S_SCORE] = s[S_SCORE + 1u] = s[S_ROUND] = 0.0;
    pong_serve(s, rng);
}

// Moves a bat; returns the way it went.
float pong_bat(inout float s[STATE_SIZE], uint player, uint action) {
    float before = s[S_BAT + player];
    s[S_BAT + player] = clamp(before + BAT_SPEED * (float(action) - 1.0), TOP, BOTTOM - BAT_HEIGHT);
    return s[S_BAT + player] - before;
}

// What the scripted player does.
uint pong_script(const float s[STATE_SIZE], uint player) {
    return s[S_BAT + player] + 0.5 * BAT_HEIGHT < s[S_Y + NOW] + 0.5 * BALL ? 2u : 0u;
}

// Takes the actions 0 up, 1 stay, 2 down of both players; returns 1 if player 0 scores, -1 if player 1 does.
float pong_step(inout float s[STATE_SIZE], uvec2 action, inout Rng rng) {
    float left = pong_bat(s, 0u, action.x), right = pong_bat(s, 1u, action.y);
    vec2 before = vec2(s[S_X + NOW], s[S_Y + NOW]), place = before + vec2(s[S_VX], s[S_VY]);
    if (place.y < TOP || place.y + BALL > BOTTOM) {
        s[S_VY] = -s[S_VY];
        place.y = clamp(place.y, TOP, BOTTOM - BALL);
    } else {
        vec2 whole = floor(place), bat = floor(vec2(s[S_BAT], s[S_BAT + 1u]));
        bvec2 level = bvec2(whole.y < bat.x + BAT_HEIGHT && whole.y + BALL > bat.x, whole.y < bat.y + BAT_HEIGHT && whole.y + BALL > bat.y);
        float front = BAT_LEFT + BAT_WIDTH, back = BAT_RIGHT - BALL; // where the ball touches the left bat, and the right one
        bool hits_left = level.x && s[S_VX] < 0.0 && before.x >= front && whole.x < front && whole.x + BALL > BAT_LEFT;
        bool hits_right = level.y && s[S_VX] > 0.0 && before.x <= back && whole.x > back && whole.x < BAT_RIGHT + BAT_WIDTH;
        if (hits_left || hits_right) {
            float to = hits_left ? front : back;
            place = vec2(to, before.y + s[S_VY] * (to - before.x) / s[S_VX]);
            s[S_VX] = -s[S_VX];
            s[S_VY] += SPIN * (hits_left ? left : right);
        }
    }
    [[unroll]] for (uint i = 0u; i < NOW; i++) {
        s[S_X + i] = s[S_X + i + 1u];
        s[S_Y + i] = s[S_Y + i + 1u];
    }
    s[S_X + NOW] = place.x;
    s[S_Y + NOW] = place.y;
    s[S_TIME] += 1.0;
    float score = place.x < 0.0 ? -1.0 : place.x + BALL > WIDTH ? 1.0 : 0.0;
    if (score > 0.0) s[S_SCORE] += 1.0;
    if (score < 0.0) s[S_SCORE + 1u] += 1.0;
    if (score != 0.0 || s[S_TIME] >= ROUND_STEPS) {
        s[S_ROUND] += 1.0;
        pong_serve(s, rng);
    }
    return score;
}

// Takes player 0's action against the script, which takes a random action with the given probability; returns as pong_step.
float pong_against_script(inout float s[STATE_SIZE], uint action, float randomly, inout Rng rng) {
    bool random = rng_uniform(rng) < randomly;
    uint any = min(uint(3.0 * rng_uniform(rng)), 2u);
    return pong_step(s, uvec2(action, random ? any : pong_script(s, 1u)), rng);
}

bool pong_over(const float s[STATE_SIZE]) { return s[S_ROUND] >= ROUNDS; }
