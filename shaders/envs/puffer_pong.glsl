// environment: PufferPong-v0
//
// Pong by the rules of PufferLib's (J. Suarez: "PufferLib: Making Reinforcement Learning Libraries and Environments Play Nice", 2024; ocean/pong): the
// agent has the right paddle, the left one follows the ball. y points up; places are those of lower left corners.
//
// Its peculiarities are kept: a ball that meets a wall is turned in every frame in which it is beyond it, and is put back by the right paddle alone;
// a step after which a round begins shows the frame before; of several rewards of a step the last one counts; the scores of an observation, which
// it divides as whole numbers, are 0.

#define STATE_SIZE 14
#define OBS_SIZE 8
#define ACTION_SIZE 3
#define DISCRETE 1
#define POINTS OPTION_0 // points: of a game
#define FRAME_SKIP OPTION_1 // frame_skip: frames of a step

#include "engine/rng.glsl"
#include "envs/options.glsl"

// The paddles, left and right, the ball's place and velocity, the scores, and the first six as they were when an observation was made.
const uint S_LEFT = 0u, S_RIGHT = 1u, S_X = 2u, S_Y = 3u, S_VX = 4u, S_VY = 5u, S_SCORE_LEFT = 6u, S_SCORE_RIGHT = 7u, S_SEEN = 8u, SEEN = 6u;

const float WIDTH = 500.0, HEIGHT = 640.0, PADDLE = 70.0, PADDLE_SPEED = 8.0, BALL = 32.0, SPEED_X = 10.0, SPEED_Y = 1.0, MOST_SPEED_Y = 13.0, SPIN = 3.0;
const float LOWEST = -0.5 * PADDLE, HIGHEST = HEIGHT - 0.5 * PADDLE; // paddles

void see(inout float s[STATE_SIZE]) {
    [[unroll]] for (uint i = 0u; i < SEEN; i++) s[S_SEEN + i] = s[i];
}

void serve(inout float s[STATE_SIZE], inout Rng rng) {
    s[S_LEFT] = s[S_RIGHT] = 0.5 * (HEIGHT - PADDLE);
    s[S_X] = WIDTH / 5.0;
    s[S_Y] = 0.5 * (HEIGHT - BALL);
    s[S_VX] = SPEED_X;
    s[S_VY] = rng_uniform(rng) < 0.5 ? -SPEED_Y : 0.0;
}

void env_reset(out float s[STATE_SIZE], inout Rng rng) {
    s[S_SCORE_LEFT] = s[S_SCORE_RIGHT] = 0.0;
    serve(s, rng);
    see(s);
}

bool meets(float ball, float paddle) { return ball + BALL > paddle && ball < paddle + PADDLE; }

void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) {
    float way = action == 1u ? 1.0 : action == 2u ? -1.0 : 0.0;
    reward = 0.0;
    bool missed = false;
    uint frames = uint(FRAME_SKIP);
    [[dont_unroll]] for (uint i = 0u; i < frames && !missed; i++) {
        s[S_RIGHT] = clamp(s[S_RIGHT] + PADDLE_SPEED * way, LOWEST, HIGHEST);
        s[S_LEFT] = clamp(s[S_LEFT] + clamp(s[S_Y] - (s[S_LEFT] + 0.5 * PADDLE), -PADDLE_SPEED, PADDLE_SPEED), LOWEST, HIGHEST);
        s[S_X] += s[S_VX];
        s[S_Y] += s[S_VY];
        if (s[S_Y] < 0.0 || s[S_Y] + BALL > HEIGHT) s[S_VY] = -s[S_VY];
        if (s[S_X] < 0.0) {
            missed = !meets(s[S_Y], s[S_LEFT]);
            s[S_VX] = -s[S_VX];
            if (missed) {
                s[S_SCORE_RIGHT] += 1.0;
                reward = 1.0;
            }
        } else if (s[S_X] + BALL > WIDTH) {
            missed = !meets(s[S_Y], s[S_RIGHT]);
            if (missed) {
                s[S_SCORE_LEFT] += 1.0;
                reward = -1.0;
            } else {
                reward = 0.1;
                s[S_VX] = -s[S_VX];
                float spun = clamp(s[S_VY] + SPIN * way, -MOST_SPEED_Y, MOST_SPEED_Y);
                s[S_VY] = abs(spun) < 0.01 ? SPIN : spun;
                s[S_X] = WIDTH - BALL;
                s[S_Y] = clamp(s[S_Y], 0.0, HEIGHT - BALL);
            }
        }
        if (!missed) see(s);
    }
    terminated = s[S_SCORE_LEFT] >= POINTS || s[S_SCORE_RIGHT] >= POINTS;
    if (missed && !terminated) serve(s, rng);
}

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = (s[S_SEEN + S_LEFT] - LOWEST) / (HIGHEST - LOWEST);
    obs[1] = (s[S_SEEN + S_RIGHT] - LOWEST) / (HIGHEST - LOWEST);
    obs[2] = s[S_SEEN + S_X] / WIDTH;
    obs[3] = s[S_SEEN + S_Y] / HEIGHT;
    obs[4] = (s[S_SEEN + S_VX] + SPEED_X) / (2.0 * SPEED_X);
    obs[5] = (s[S_SEEN + S_VY] + MOST_SPEED_Y) / (2.0 * MOST_SPEED_Y);
    obs[6] = obs[7] = 0.0;
}
