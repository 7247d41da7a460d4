// SlimeVolley, by the rules of slimevolleygym 0.1.0: two slimes and a ball in a plane, whose y points up. Player 0 is at the left.
//
// A push out of what the ball meets is one of the package's steps of 0.1, as many as it takes: their number is computed instead of counted.
//
// The includer has defined STATE_SIZE, of at least 27 and with SLIME_MEMORY more for each player that may follow the script, LIVES and FREEZE.

#include "engine/rng.glsl"
#include "envs/options.glsl"
#include "envs/slimevolley_script.glsl"

// The state: x, y, vx, vy of each player and of the ball; steps for which the ball is still held; lives; the first twelve as they were when players saw them
// last; the memory of scripts.
const uint S_PLAYER = 0u, S_BALL = 8u, S_HELD = 12u, S_LIVES = 13u, S_SEEN = 15u, S_MEMORY = 27u;
const uint X = 0u, Y = 1u, VX = 2u, VY = 3u;

const float TIME_STEP = 1.0 / 30.0;
const float GRAVITY = -29.4;
const float GROUND = 1.5, CEILING = 48.0, HALF_WIDTH = 24.0;
const float FENCE = 0.5, FENCE_TOP = 3.5; // half the fence's width, and where it ends in a round stub
const float BALL_RADIUS = 0.5, RADIUS = 1.5, STUB_RADIUS = 0.5;
const float RUN = 17.5, JUMP = 13.5, BALL_SPEED = 22.5;
const float PUSH = 0.1, GAP = 1.0 / 300.0; // out of bodies, and off edges
const float START_X = 12.0;

void slime_serve(inout float s[STATE_SIZE], inout Rng rng) {
    s[S_BALL + X] = 0.0;
    s[S_BALL + Y] = 12.0;
    s[S_BALL + VX] = rng_uniform(rng, -20.0, 20.0);
    s[S_BALL + VY] = rng_uniform(rng, 10.0, 25.0);
    s[S_HELD] = FREEZE;
}

void slime_show(inout float s[STATE_SIZE]) {
    [[unroll]] for (uint i = 0u; i < 12u; i++) s[S_SEEN + i] = s[i];
}

void slime_reset(out float s[STATE_SIZE], inout Rng rng) {
    [[unroll]] for (uint i = 0u; i < STATE_SIZE; i++) s[i] = 0.0;
    s[S_PLAYER + X] = -START_X;
    s[S_PLAYER + 4u + X] = START_X;
    s[S_PLAYER + Y] = s[S_PLAYER + 4u + Y] = GROUND;
    s[S_LIVES] = s[S_LIVES + 1u] = LIVES;
    slime_serve(s, rng);
    slime_show(s);
}

float slime_side(uint player) { return player == 0u ? -1.0 : 1.0; }

// Moves a player. The actions are 0 none, 1 forward, 2 forward and jump, 3 jump, 4 backward and jump, 5 backward; forward is to the fence.
void slime_move(inout float s[STATE_SIZE], uint player, uint action) {
    uint p = S_PLAYER + 4u * player;
    float side = slime_side(player);
    float run = action == 1u || action == 2u ? -RUN : action >= 4u ? RUN : 0.0;
    s[p + VY] += GRAVITY * TIME_STEP;
    if (s[p + Y] <= GROUND + GAP) s[p + VY] = action >= 2u && action <= 4u ? JUMP : 0.0;
    s[p + VX] = side * run;
    s[p + X] += TIME_STEP * s[p + VX];
    s[p + Y] += TIME_STEP * s[p + VY];
    if (s[p + Y] <= GROUND) {
        s[p + Y] = GROUND;
        s[p + VY] = 0.0;
    }
    float least = FENCE + RADIUS, most = HALF_WIDTH - RADIUS, away = side * s[p + X];
    if (away <= least || away >= most) {
        s[p + VX] = 0.0;
        s[p + X] = side * (away <= least ? least : most);
    }
}

// The ball bounces off a disc if it is in it, even if it is on its way out.
void slime_bounce(inout float s[STATE_SIZE], vec2 place, vec2 velocity, float radius) {
    vec2 ball = vec2(s[S_BALL + X], s[S_BALL + Y]), away = ball - place;
    float reach = radius + BALL_RADIUS, d = length(away);
    if (!(d < reach)) return;
    vec2 n = d > 0.0 ? away / d : vec2(0.0, 1.0); // the package fails where both centres are one point
    ball += PUSH * ceil((reach - d) / PUSH) * n;
    vec2 u = vec2(s[S_BALL + VX], s[S_BALL + VY]) - velocity;
    u += velocity - 2.0 * dot(u, n) * n;
    s[S_BALL + X] = ball.x;
    s[S_BALL + Y] = ball.y;
    s[S_BALL + VX] = u.x;
    s[S_BALL + VY] = u.y;
}

// The ball at the edges of the world, and at the fence, which it meets if it was beside it before; returns 1 if it lands at the left, -1 at the right, else 0.
float slime_edges(inout float s[STATE_SIZE], float before) {
    float wall = HALF_WIDTH - BALL_RADIUS, low = GROUND + BALL_RADIUS, high = CEILING - BALL_RADIUS, fence = FENCE + BALL_RADIUS;
    if (s[S_BALL + X] <= -wall) {
        s[S_BALL + VX] = -s[S_BALL + VX];
        s[S_BALL + X] = -wall + GAP;
    }
    if (s[S_BALL + X] >= wall) {
        s[S_BALL + VX] = -s[S_BALL + VX];
        s[S_BALL + X] = wall - GAP;
    }
    if (s[S_BALL + Y] <= low) return s[S_BALL + X] <= 0.0 ? 1.0 : -1.0; // a new ball is served
    if (s[S_BALL + Y] >= high) {
        s[S_BALL + VY] = -s[S_BALL + VY];
        s[S_BALL + Y] = high - GAP;
    }
    if (s[S_BALL + Y] <= FENCE_TOP) {
        if (s[S_BALL + X] <= fence && before > fence) {
            s[S_BALL + VX] = -s[S_BALL + VX];
            s[S_BALL + X] = fence + GAP;
        }
        if (s[S_BALL + X] >= -fence && before < -fence) {
            s[S_BALL + VX] = -s[S_BALL + VX];
            s[S_BALL + X] = -fence - GAP;
        }
    }
    return 0.0;
}

// Takes the actions of both players; returns 1 if player 1 scores, -1 if player 0 does.
float slime_step(inout float s[STATE_SIZE], uvec2 action, inout Rng rng) {
    slime_move(s, 0u, action.x);
    slime_move(s, 1u, action.y);
    float before = s[S_BALL + X];
    if (s[S_HELD] > 0.0) {
        s[S_HELD] -= 1.0;
    } else {
        s[S_BALL + VY] += GRAVITY * TIME_STEP;
        float speed = length(vec2(s[S_BALL + VX], s[S_BALL + VY]));
        if (speed > BALL_SPEED) {
            s[S_BALL + VX] *= BALL_SPEED / speed;
            s[S_BALL + VY] *= BALL_SPEED / speed;
        }
        s[S_BALL + X] += TIME_STEP * s[S_BALL + VX];
        s[S_BALL + Y] += TIME_STEP * s[S_BALL + VY];
    }
    slime_bounce(s, vec2(s[0], s[1]), vec2(s[2], s[3]), RADIUS);
    slime_bounce(s, vec2(s[4], s[5]), vec2(s[6], s[7]), RADIUS);
    slime_bounce(s, vec2(0.0, FENCE_TOP), vec2(0.0), STUB_RADIUS);
    float score = slime_edges(s, before);
    if (score == 0.0) {
        slime_show(s);
    } else { // players go on seeing what they saw before
        s[S_LIVES] -= score > 0.0 ? 1.0 : 0.0;
        s[S_LIVES + 1u] -= score > 0.0 ? 0.0 : 1.0;
        slime_serve(s, rng);
    }
    return score;
}

bool slime_over(const float s[STATE_SIZE]) { return LIVES > 0.0 && min(s[S_LIVES], s[S_LIVES + 1u]) <= 0.0; }

// A player, the ball and the other player, each player seen from its own side of the fence and the ball from the player's.
void slime_observe(const float s[STATE_SIZE], uint player, out float obs[OBS_SIZE]) {
    float side = slime_side(player);
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        float left = s[S_SEEN + i], right = s[S_SEEN + 4u + i], ball = s[S_SEEN + 8u + i];
        bool across = i == X || i == VX; // mirrored
        if (across) {
            left = -left;
            ball *= side;
        }
        obs[i] = (player == 0u ? left : right) / 10.0;
        obs[4u + i] = ball / 10.0;
        obs[8u + i] = (player == 0u ? right : left) / 10.0;
    }
}

// What the script does; its memory begins at element `memory` of the state.
uint slime_script(inout float s[STATE_SIZE], uint player, uint memory) {
    const uint INPUTS = SLIME_SEEN + SLIME_MEMORY;
    float obs[OBS_SIZE], y[SLIME_MEMORY];
    slime_observe(s, player, obs);
    [[unroll]] for (uint o = 0u; o < SLIME_MEMORY; o++) {
        float sum = SLIME_BIAS[o];
        [[unroll]] for (uint i = 0u; i < INPUTS; i++) sum += SLIME_WEIGHT[INPUTS * o + i] * (i < SLIME_SEEN ? obs[i] : s[memory + i - SLIME_SEEN]);
        y[o] = m_tanh(sum);
    }
    [[unroll]] for (uint o = 0u; o < SLIME_MEMORY; o++) s[memory + o] = y[o];
    bool forward = s[memory] > 0.75, backward = s[memory + 1u] > 0.75, jump = s[memory + 2u] > 0.75;
    if (forward == backward) return jump ? 3u : 0u;
    return forward ? (jump ? 2u : 1u) : jump ? 4u : 5u;
}
