// Common to kernels that make many updates of off-policy agents in one dispatch, on drivers whose memory is slow
// compared with their registers. A subgroup computes a member, one network after the other: each is read from memory,
// takes all rows of the batch, and leaves its outputs in shared memory or its gradient in memory. Software drivers run
// every branch, masked, so all networks share the same two loops, one of networks that are only evaluated and one of
// those that learn.
//
// The includer declares before the push constants count, together and those of engine/optim/constants.glsl, and defines
// row_gradient and row_end.

#define QUADS_64
#define HALVES
#include "engine/halved.glsl"
#include "engine/store.glsl"

layout(local_size_x = 8, local_size_x_id = 12) in; // one subgroup
layout(constant_id = 0) const uint LANES = 8;
layout(constant_id = 5) const uint IN = 2;      // of the networks, the largest number
layout(constant_id = 6) const uint OUT = 1;     // of the networks, the largest number
layout(constant_id = 8) const uint BATCH = 64;

layout(std430, set = 0, binding = 0) coherent readonly buffer Params { float params[]; };  // all that updates change
layout(std430, set = 0, binding = 1) coherent readonly buffer Params4 { vec4 params4[]; }; // the same
layout(std430, set = 0, binding = 2) coherent writeonly buffer Updated4 { Quad updated4[]; };    // the same
layout(std430, set = 0, binding = 3) readonly buffer Obs { float obs[]; };            // [updates, M, BATCH, OBS]
layout(std430, set = 0, binding = 4) readonly buffer NextObs { float next_obs[]; };   // [updates, M, BATCH, OBS]
layout(std430, set = 0, binding = 5) readonly buffer Action { float actions[]; };     // [updates, M, BATCH, dimensions]
layout(std430, set = 0, binding = 6) readonly buffer Reward { float reward[]; };      // [updates, M, BATCH]
layout(std430, set = 0, binding = 7) readonly buffer Factor { float factor[]; };      // [updates, M, BATCH]
layout(std430, set = 0, binding = 8) readonly buffer RewardScale { float reward_scale[]; }; // [M]
layout(std430, set = 0, binding = 9) readonly buffer Tau { float tau[]; };            // [M]
layout(std430, set = 0, binding = 10) readonly buffer Clock { uint clock[]; };        // [0]: the iteration
layout(std430, set = 0, binding = 11) readonly buffer Chunk { uint chunk[]; };        // [0]: index of the dispatch in the iteration
layout(std430, set = 0, binding = 12) writeonly buffer Norm { float norm[]; };        // [M]: norm of the last gradient; -1: not finite
layout(std430, set = 0, binding = 13) writeonly buffer Value { float values[]; };     // of the last update
layout(std430, set = 0, binding = 14) writeonly buffer Loss { float loss[]; };        // [M, BATCH]: of the last update
layout(std430, set = 0, binding = 15) coherent writeonly buffer Gradient { float gradient[]; };  // [M, row]
layout(std430, set = 0, binding = 16) coherent writeonly buffer Gradient4 { Quad gradient4[]; }; // the same
layout(std430, set = 0, binding = 17) coherent readonly buffer Summed { vec4 summed[]; };        // the same
layout(set = 0, binding = 18, rgba32f) coherent readonly uniform imageBuffer summed_texels;
layout(set = 0, binding = 19, rgba32f) coherent readonly uniform imageBuffer params_texels;
layout(set = 0, binding = 20, rgba32f) readonly uniform imageBuffer obs_texels;
layout(set = 0, binding = 21, rgba32f) readonly uniform imageBuffer next_obs_texels;
layout(set = 0, binding = 22, rgba32f) readonly uniform imageBuffer actions_texels;
layout(set = 0, binding = 23, rgba32f) readonly uniform imageBuffer reward_texels;
layout(set = 0, binding = 24, rgba32f) readonly uniform imageBuffer factor_texels;

#define MLP_LONG false
#include "engine/nn/mlp.glsl"
#include "engine/nn/mlp_backward.glsl"
#include "engine/nn/mlp_block.glsl"
#include "engine/nn/follow.glsl"
#include "engine/optim/bias.glsl"

uint member, members;
float share, scale;       // tau, factor of rewards
uint update, first, last; // the present update of the iteration; the first of this dispatch, and one behind its last
uint batch;               // where the present update's rows begin

// Begins the updates of a dispatch. Loops over them test their condition at the end: if it is at the start, software
// drivers run the body once more, masked.
void updates_begin() {
    member = gl_WorkGroupID.x;
    members = gl_NumWorkGroups.x;
    share = tau[member];
    scale = reward_scale[member];
    update = first = chunk[0] * together;
    last = min(first + together, count);
}

void update_begin() { batch = ((update - first) * members + member) * BATCH; }

float mlp_rows[IN]; // inputs of LANES rows, one a lane

// Reads the observation, or the next one, of row `at`, a different row in each lane.
void observe(uint features, uint at, bool next) {
    UNROLL for (uint k = 0u; k < features; k++) {
        uint e = at * features + k;
        mlp_rows[k] = next ? LOAD(next_obs, next_obs_texels, e) : LOAD(obs, obs_texels, e);
    }
}

// The target value of row `at`, r + factor * next. If the factor is 0, the next state's value is not used, even if it is
// not finite.
float target_value(uint at, float next) {
    float follows = LOAD(factor, factor_texels, at);
    return scale * LOAD(reward, reward_texels, at) + (follows == 0.0 ? 0.0 : follows * next);
}

// Copies the row of a lane to mlp_x. Lanes take turns, from lane 0 on.
void input_of(uint lane) {
    UNROLL for (uint k = 0u; k < IN; k++) {
        mlp_x[k] = MLP_TURN_OF(mlp_rows[k], lane);
        MLP_TURN_NEXT(mlp_rows[k])
    }
}

// Evaluates the rows from `begin` to before `end`, one a lane, and gives each lane the outputs of its own. i is `begin`,
// and then `end`.
void evaluate_rows(uint begin, uint end, inout uint i, out float y[OUT]) {
    UNROLL for (uint o = 0u; o < OUT; o++) y[o] = 0.0;
    [[dont_unroll]] do {
        input_of(i - begin);
        mlp_forward();
        UNROLL for (uint o = 0u; o < OUT; o++) y[o] = LANE == i - begin ? mlp_y[o] : y[o];
        i++;
    } while (i < end);
}

float row_given[OUT]; // of a lane's row: what row_gradient makes the gradient at the outputs of

// The gradient of the loss at output o of the row whose turn it is.
float row_gradient(uint o, float given);

// Ends a row's turn, after its backward pass; mine: the lane has the row.
void row_end(bool mine);

// Passes the rows from `begin` to before `end` forward and back, one a lane. i is `begin`, and then `end`, rounded up to
// blocks. Without `weights` the gradients with respect to weights are not computed.
void learn_rows(uint begin, uint end, bool weights, inout uint i) {
    uint block = weights ? BLOCK : LANES; // else fewer blocks, whose gradients are wrong
    [[dont_unroll]] do {
        [[dont_unroll]] do {
            uint lane = (i - begin) % LANES;
            input_of(lane);
            mlp_forward();
            float dy[OUT];
            UNROLL for (uint o = 0u; o < OUT; o++) {
                float g = row_gradient(o, MLP_TURN_OF(row_given[o], lane));
                MLP_TURN_NEXT(row_given[o])
                dy[o] = i < end ? g : 0.0;
            }
            mlp_backward_block(dy);
            row_end(LANE == lane && i < end);
            i++;
        } while (i % block != 0u);
        mlp_block_end();
    } while (i < end);
}

// Makes what lanes wrote visible to other lanes.
void exchange() {
    subgroupMemoryBarrier();
    if (LANES >= 16u) subgroupBarrier();
}

// One update of a row of parameters.
struct Adam {
    uint base, stride, target, gradient, fours; // where they begin, in floats, and how many fours there are
    float rate; // the learning rate / (1 - beta_1^t)
    float correction_2; // 1 / (1 - beta_2^t)
    float scale;        // of the gradient
    bool finite;
    bool follows; // the targets do
    float tau;
};

// D. P. Kingma, J. Ba, 2015, algorithm 1. With 0 fours, one masked iteration.
void adam(Adam a) {
    uint begin = 0u;
    [[dont_unroll]] do {
        uint i = min(begin + LANE, max(a.fours, 1u) - 1u), at = a.base / 4u + i, target = a.target / 4u + i, stride = a.stride / 4u;
        vec4 g = a.scale * LOAD4(summed, summed_texels, a.gradient / 4u + i), to = LOAD4(params4, params_texels, target);
        vec4 w = LOAD4(params4, params_texels, at), m = LOAD4(params4, params_texels, at + stride), v = LOAD4(params4, params_texels, at + 2u * stride);
        m = beta_1 * m + gain_1 * g;
        v = beta_2 * v + gain_2 * g * g;
        vec4 next = w - a.rate * m / (sqrt(v * a.correction_2) + epsilon);
        bool takes = begin + LANE < a.fours, learns = takes && a.finite;
        STORE_QUAD(updated4, learns, at, next)
        STORE_QUAD(updated4, learns, at + stride, m)
        STORE_QUAD(updated4, learns, at + 2u * stride, v)
        STORE_QUAD(updated4, takes && a.follows, target, follow(to, a.finite ? next : w, a.tau))
        begin += LANES;
    } while (begin < a.fours);
}
