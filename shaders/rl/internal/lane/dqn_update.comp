#version 450

// Many updates of deep Q-learning in one dispatch: values at the next observations by target and network, the loss
// (dqn_loss.comp), its gradient, Adam and the targets' updates, on networks in the lanes of a subgroup
// (update.glsl). V. Mnih et al., 2015, algorithm 1.
//
// Groups: x = members.

#include "engine/finite.glsl"
#include "engine/optim/constants.glsl"

layout(constant_id = 9) const bool DOUBLE = false;   // the network chooses the next action
layout(constant_id = 10) const bool DUELING = false; // the last output is the state's value, the others are advantages

layout(std430, set = 0, binding = 25) readonly buffer LearningRate { float learning_rate[]; }; // [M]
layout(std430, set = 0, binding = 26) readonly buffer Interval { float interval[]; };      // [M]: updates between those that targets follow
layout(std430, set = 0, binding = 27) buffer Updates { uint updates[]; };              // [M]: number of updates
layout(std430, set = 0, binding = 28) buffer Refused { uint refused[]; };              // [M]: gradients that were not finite

layout(push_constant) uniform Push {
    uint row;      // floats of a member's parameters
    uint stride;   // floats from parameters to first moments to second moments, a multiple of four
    uint target;   // where the targets begin, [M, row]
    uint count;    // updates of the iteration
    uint together; // updates per dispatch; the last may have fewer
    float huber;   // size of errors above which the loss is linear; 0: always quadratic
    float max_norm; // of the gradient; 0: no limit
    ADAM_CONSTANTS
};

#include "rl/internal/lane/update.glsl"
#include "engine/nn/mlp_columns.glsl"
#include "engine/optim/norm.glsl"

const uint ACTIONS = OUT - (DUELING ? 1u : 0u);
const uint EVALUATED = DOUBLE ? 3u : 2u; // networks at next observations, targets first, and at last the network at the observations
const uint HERE = (EVALUATED - 1u) * OUT;

shared float outputs[EVALUATED * OUT * BATCH]; // of these; the network's become the gradients

uint own; // where the network's parameters begin

float row_gradient(uint o, float given) { return given; }
void row_end(bool mine) {}

// Evaluates the networks, each panel by panel.
void evaluate() {
    uint pass = 0u;
    [[dont_unroll]] do {
        uint of = pass / PANELS, panel = pass % PANELS;
        columns_load(of == 0u ? target + own : own, panel);
        uint begin = 0u, i = 0u;
        [[dont_unroll]] do {
            uint row = min(begin + LANE, BATCH - 1u);
            observe(IN, batch + row, of + 1u < EVALUATED);
            float y[OUT];
            evaluate_rows(begin, min(begin + LANES, BATCH), i, y);
            UNROLL for (uint o = 0u; o < OUT; o++) {
                uint at = (of * OUT + o) * BATCH + row;
                if (begin + LANE < BATCH) outputs[at] = panel == 0u ? y[o] : outputs[at] + y[o];
            }
            begin += LANES;
        } while (begin < BATCH);
        exchange();
        pass++;
    } while (pass < EVALUATED * PANELS);
}

// The loss of a row a lane (dqn_loss.comp), and its gradient at the outputs.
void losses() {
    uint begin = 0u;
    [[dont_unroll]] do {
        uint row = min(begin + LANE, BATCH - 1u), at = batch + row;
        uint taken = min(uint(max(LOAD(actions, actions_texels, at), 0.0)), ACTIONS - 1u);
        float top = 0.0, next = 0.0, q = 0.0, next_mean = 0.0, mean = 0.0;
        UNROLL for (uint a = 0u; a < ACTIONS; a++) {
            float there = outputs[a * BATCH + row], here = outputs[(HERE + a) * BATCH + row];
            float choice = DOUBLE ? outputs[(OUT + a) * BATCH + row] : there;
            bool better = a == 0u || choice > top;
            next = better ? there : next;
            top = a == 0u ? choice : max(top, choice);
            q = a == taken ? here : q;
            next_mean += there / float(ACTIONS);
            mean += here / float(ACTIONS);
        }
        if (DUELING) {
            next += outputs[ACTIONS * BATCH + row] - next_mean;
            q += outputs[(HERE + ACTIONS) * BATCH + row] - mean;
        }
        float d = q - target_value(at, next);
        float slope = 2.0 * d, l = d * d;
        if (huber > 0.0) {
            slope = m_isnan(d) ? d : clamp(d, -huber, huber);
            l = abs(d) <= huber ? 0.5 * d * d : huber * (abs(d) - 0.5 * huber);
        }
        float g = slope / float(BATCH);
        if (begin + LANE < BATCH) {
            UNROLL for (uint a = 0u; a < OUT; a++) {
                outputs[(HERE + a) * BATCH + row] = a == ACTIONS ? g : (a == taken ? g : 0.0) - (DUELING ? g / float(ACTIONS) : 0.0);
            }
            if (update + 1u == last) {
                loss[member * BATCH + row] = l;
                values[member * BATCH + row] = q;
            }
        }
        begin += LANES;
    } while (begin < BATCH);
    exchange();
}

// Computes the gradient with respect to the weights, panel by panel, and returns its squared norm.
float gradients() {
    mlp_zero();
    float square = 0.0;
    uint panel = 0u;
    [[dont_unroll]] do {
        if (PANELS > 1u) columns_load(own, panel); // else the registers hold it
        uint begin = 0u, i = 0u;
        [[dont_unroll]] do {
            uint row = min(begin + LANE, BATCH - 1u);
            observe(IN, batch + row, false);
            UNROLL for (uint o = 0u; o < OUT; o++) row_given[o] = outputs[(HERE + o) * BATCH + row];
            learn_rows(begin, min(begin + LANES, BATCH), true, i);
            begin += LANES;
        } while (begin < BATCH);
        square += columns_store(own, panel);
        panel++;
    } while (panel < PANELS);
    exchange();
    return square;
}

void main() {
    unroll_apart();
    updates_begin();
    own = member * row;
    float rate = learning_rate[member], size = 0.0;
    uint done = updates[member], refusals = 0u, wait = uint(max(round(interval[member]), 1.0)), before = clock[0] * count;
    [[dont_unroll]] do {
        update_begin();
        evaluate();
        losses();
        size = norm_of(gradients());
        uint number = before + update + 1u;
        vec4 factors = norm_factors(size, done + 1u);
        adam(Adam(own, stride, target + own, own, row / 4u, rate * factors.w * factors.y, factors.z, factors.x, size >= 0.0, number % wait == 0u, share));
        exchange();
        done += size >= 0.0 ? 1u : 0u;
        refusals += size >= 0.0 ? 0u : 1u;
        update++;
    } while (update < last);

    if (LANE != 0u) return;
    updates[member] = done;
    refused[member] += refusals;
    norm[member] = size;
}
