#version 450

// Many updates of soft actor-critic with continuous actions in one dispatch: next actions and their values, forward and
// backward pass of the critics, Adam, the targets' updates, then the actor's update through the critics and that of the
// temperature, on networks in the lanes of a subgroup (update.glsl). T. Haarnoja et al., "Soft Actor-Critic
// Algorithms and Applications", 2018, algorithm 1.
//
// Groups: x = members.

#include "engine/optim/constants.glsl"
#include "engine/rng.glsl"
#include "rl/internal/lane/rows.glsl"

layout(constant_id = 9) const bool HAS_TEMPERATURE = false; // temperatures are given, else learned: logarithms behind the networks
layout(constant_id = 10) const bool HAS_TEMPERATURE_RATE = false; // as the following ones, if temperatures are learned
layout(constant_id = 11) const bool HAS_TEMPERATURE_UPDATES = false;
layout(constant_id = 13) const bool HAS_TEMPERATURE_REFUSED = false;

layout(std430, set = 0, binding = 31) readonly buffer Temperature { float given_temperature[]; };   // [M]; optional
layout(std430, set = 0, binding = 32) readonly buffer TargetEntropy { float target_entropy[]; };    // [M]: of a dimension of an action
layout(std430, set = 0, binding = 33) readonly buffer TemperatureRate { float temperature_rate[]; }; // [M]; optional
layout(std430, set = 0, binding = 34) buffer TemperatureUpdates { uint temperature_updates[]; };    // [M]: as Updates; optional
layout(std430, set = 0, binding = 35) buffer TemperatureRefused { uint temperature_refused[]; };    // [M]: as Refused; optional
layout(std430, set = 0, binding = 36) writeonly buffer LogProb { float log_prob[]; };               // [M, BATCH]: of the actor's last actions
layout(std430, set = 0, binding = 37) writeonly buffer Sums { float sums[]; };                      // [2, M]: the actor's last loss, and its temperature

layout(push_constant) uniform Push {
    ACTOR_CRITIC_ROWS
    uint gradient_row;  // floats of a member's gradients, of the critics and then of the actor
    uint target_critic; // [M, CRITICS, row]
    uint logarithms;    // where the logarithms of temperatures begin, [3, M, 4], of which the first of four is used
    uint logarithm_stride;
    uint seed;
    uint next_stream; // of the next actions
    uint own_stream;  // of the actor's own
    uint count;       // updates of the iteration
    uint together;    // updates per dispatch; the last may have fewer
    ADAM_CONSTANTS
};

#define PASSES CRITICS
#define TARGET_ACTOR 0u
#define VALUES_OF_ACTOR true

#include "rl/internal/lane/actor_critic.glsl"

shared float noise[2u * DIMS * BATCH];  // standard normal, of the next actions and of the actor's own, which its deviations then multiply
shared float own_slope[DIMS * BATCH];   // derivatives of the actor's actions with respect to samples
shared float own_spread[DIMS * BATCH];  // of its log standard deviations with respect to outputs
shared float first_value[BATCH];        // of the actor's actions, by the first critic

float alpha;     // the temperature
float log_probs; // sum over the lane's rows
float least;     // sum over the lane's rows of the smallest value of the actor's actions

void draw_noise() {
    uint begin = 0u, iteration = clock[0];
    [[dont_unroll]] do {
        uint i = begin + LANE, own = i < BATCH ? 0u : 1u, row = i - own * BATCH;
        Rng rng = head_rng(seed, own == 0u ? next_stream : own_stream, member, row, iteration, update);
        UNROLL for (uint o = 0u; o < DIMS; o++) {
            float z = rng_normal(rng);
            if (i < 2u * BATCH) noise[(own * DIMS + o) * BATCH + row] = z;
        }
        begin += LANES;
    } while (begin < 2u * BATCH);
    exchange();
}

void evaluated(uint network, uint row, bool present, const float y[OUT]) {
    bool next = network <= CRITICS, acts = network == 0u || !next, own = present && !next;
    float each = 0.0; // the log-probability
    UNROLL for (uint o = 0u; o < DIMS; o++) {
        uint at = o * BATCH + row, own_noise = (DIMS + o) * BATCH + row;
        float z = noise[next ? at : own_noise], log_std = head_log_std(y, o, 0.0), moved = m_exp(log_std) * z, u = y[o] + moved;
        float action = m_tanh(u);
        each += gauss_log_density(z, log_std) - squash_log_slope(u);
        if (present && network == 0u) policy[at] = action;
        if (own) {
            own_policy[at] = action;
            noise[own_noise] = moved;
            own_slope[at] = squash_slope(u);
            own_spread[at] = head_log_std_slope(head_spread(y, o));
        }
    }
    // The next action's entropy waits in row_loss until the critics have given their values.
    if (present && network == 0u) row_loss[row] = -alpha * each;
    if (present && !acts) {
        float value = network == 1u ? y[0] : min(next_value[row], y[0]);
        next_value[row] = network == CRITICS ? value + row_loss[row] : value;
    }
    log_probs += own ? each : 0.0;
    if (own && update + 1u == last) log_prob[member * BATCH + row] = each;
}

// The actor follows the critic with the smaller value.
void passed(uint one, uint row) {
    float other = first_value[row];
    if (one == 0u || !(other <= row_value)) {
        UNROLL for (uint o = 0u; o < DIMS; o++) policy[o * BATCH + row] = row_at_action[o];
    }
    first_value[row] = row_value;
    least += one == 0u ? 0.0 : min(other, row_value);
}

// head_backward.comp has these derivatives.
void actor_gradient(uint row) {
    float at_log_prob = alpha / float(BATCH);
    UNROLL for (uint o = 0u; o < DIMS; o++) {
        uint e = o * BATCH + row;
        float at_sample = policy[e] * own_slope[e] + at_log_prob * 2.0 * own_policy[e];
        row_given[o] = at_sample;
        row_given[DIMS + o] = (at_sample * noise[(DIMS + o) * BATCH + row] - at_log_prob) * own_spread[e];
    }
}

void main() {
    unroll_apart();
    actor_critic_begin();
    uint heats = 0u;       // updates of the temperature
    vec3 heat = vec3(0.0); // the temperature's logarithm and its moments
    float actor_loss = 0.0;
    if (HAS_TEMPERATURE_UPDATES) {
        heats = temperature_updates[member];
        UNROLL for (uint i = 0u; i < 3u; i++) heat[i] = params[logarithms + i * logarithm_stride + 4u * member];
    }
    [[dont_unroll]] do {
        update_begin();
        alpha = HAS_TEMPERATURE ? given_temperature[member] : m_exp(heat.x);
        draw_noise();
        log_probs = least = 0.0;
        evaluate(true);
        float mean = mlp_sum(log_probs) / float(BATCH);
        // The actor's gradient counts together with the one of the temperature's logarithm (equation 18).
        float at_log = -alpha * (mean + target_entropy[member] * float(DIMS));
        bool finite = learn(true, HAS_TEMPERATURE ? 0.0 : at_log * at_log);
        if (HAS_TEMPERATURE_RATE && finite) {
            float t = float(heats + 1u);
            heat.y = beta_1 * heat.y + gain_1 * at_log;
            heat.z = beta_2 * heat.z + gain_2 * at_log * at_log;
            heat.x -= temperature_rate[member] * bias_correction(t, log_beta_1) * heat.y / (sqrt(heat.z * bias_correction(t, log_beta_2)) + epsilon);
            heats++;
        }
        actor_loss = alpha * mean - mlp_sum(least) / float(BATCH);
        update++;
    } while (update < last);

    if (LANE != 0u) return;
    actor_critic_end();
    sums[member] = actor_loss;
    sums[members + member] = alpha;
    if (HAS_TEMPERATURE_REFUSED) temperature_refused[member] += refusals[1];
    if (HAS_TEMPERATURE_UPDATES) {
        temperature_updates[member] = heats;
        UNROLL for (uint i = 0u; i < 3u; i++) updated4[(logarithms + i * logarithm_stride) / 4u + member] = quad(vec4(heat[i], 0.0, 0.0, 0.0));
    }
}
