#version 450

// Many updates of soft actor-critic with continuous actions in one dispatch: next actions and their values, forward and
// backward pass of the critics, Adam, the targets' updates, then the actor's update through the critics and that of the
// temperature, on networks in the lanes of a subgroup (update.glsl). T. Haarnoja et al., "Soft Actor-Critic
// Algorithms and Applications", 2018, algorithm 1.
//
// Groups: x = members.

#extension GL_ARB_gpu_shader_int64 : require
#include "engine/rng.glsl"

layout(constant_id = 9) const bool HAS_TEMPERATURE = false; // temperatures are given, else learned: logarithms behind the networks
layout(constant_id = 10) const bool HAS_TEMPERATURE_RATE = false; // as the following ones, if temperatures are learned
layout(constant_id = 11) const bool HAS_TEMPERATURE_UPDATES = false;
layout(constant_id = 13) const bool HAS_TEMPERATURE_REFUSED = false;

layout(std430, set = 0, binding = 31) readonly buffer Temperature { float given_temperature[]; };   // [P]; optional
layout(std430, set = 0, binding = 32) readonly buffer TargetEntropy { float target_entropy[]; };    // [P]: of a dimension of an action
layout(std430, set = 0, binding = 33) readonly buffer TemperatureRate { float temperature_rate[]; }; // [P]; optional
layout(std430, set = 0, binding = 34) buffer TemperatureUpdates { uint temperature_updates[]; };    // [P]: as Updates; optional
layout(std430, set = 0, binding = 35) buffer TemperatureRefused { uint temperature_refused[]; };    // [P]: as Refused; optional
layout(std430, set = 0, binding = 36) writeonly buffer LogProb { float log_prob[]; };               // [P, BATCH]: of the actor's last actions
layout(std430, set = 0, binding = 37) writeonly buffer Sums { float sums[]; };                      // [2, P]: the actor's last loss, and its temperature

layout(push_constant) uniform Push {
    uint actor_row;     // floats of a member's parameters
    uint actor_stride;  // floats from parameters to first moments to second moments, a multiple of four
    uint critic;        // where the critics' parameters begin, [3, P, CRITICS, row]
    uint critic_row;    // floats of one critic's
    uint critic_stride;
    uint gradient_row;  // floats of a member's gradients, of the critics and then of the actor
    uint target_critic; // [P, CRITICS, row]
    uint logarithms;    // where the logarithms of temperatures begin, [3, P, 4], of which the first of four is used
    uint logarithm_stride;
    uint seed;
    uint next_stream; // of the next actions
    uint own_stream;  // of the actor's own
    uint count;       // updates of the iteration
    uint together;    // updates per dispatch; the last may have fewer
    float beta_1;
    float beta_2;
    float gain_1; // 1 - beta
    float gain_2;
    float log_beta_1; // natural logarithms
    float log_beta_2;
    float epsilon;
};

#include "rl/internal/lane/actor_critic.glsl"

shared float noise[2u * DIMS * BATCH];  // standard normal, of the next actions and of the actor's own, which its deviations then multiply
shared float own_slope[DIMS * BATCH];   // derivatives of the actor's actions with respect to samples
shared float own_spread[DIMS * BATCH];  // of its log standard deviations with respect to outputs
shared float first_value[BATCH];        // of the actor's actions, by the first critic

void draw_noise(uint member, uint iteration, uint update) {
    uint begin = 0u;
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

void main() {
    unroll_apart();
    uint member = gl_WorkGroupID.x, members = gl_NumWorkGroups.x;
    float share = tau[member], scale = reward_scale[member];
    uint done[3] = uint[3](critic_updates[member], updates[member], 0u), refusals[2] = uint[2](0u, 0u); // of critics, of actors, of temperatures
    uint first = chunk[0] * together, last = min(first + together, count), iteration = clock[0];
    float size = 0.0, alpha = 0.0, actor_loss = 0.0;
    vec3 heat = vec3(0.0); // the temperature's logarithm and its moments
    if (HAS_TEMPERATURE_UPDATES) {
        done[2] = temperature_updates[member];
        UNROLL for (uint i = 0u; i < 3u; i++) heat[i] = params[logarithms + i * logarithm_stride + 4u * member];
    }

    // Loops test their condition at the end: if it is at the start, software drivers run the body once more, masked.
    uint update = first;
    [[dont_unroll]] do {
        uint batch = ((update - first) * members + member) * BATCH;
        alpha = HAS_TEMPERATURE ? given_temperature[member] : m_exp(heat.x);
        draw_noise(member, iteration, update);
        // Networks that are only evaluated: actor and target critics at the next observations, and the actor.
        float log_probs = 0.0; // of the lane's rows
        uint network = 0u;
        [[dont_unroll]] do {
            bool next = network <= CRITICS, acts = network == 0u || !next;
            network_ins = acts ? OBS : IN;
            network_outs = acts ? OUT : 1u;
            part_load(acts ? member * actor_row : target_critic + (member * CRITICS + network - 1u) * critic_row);
            uint begin = 0u, i = 0u;
            [[dont_unroll]] do {
                uint row = min(begin + LANE, BATCH - 1u), end = min(begin + LANES, BATCH);
                UNROLL for (uint k = 0u; k < OBS; k++) {
                    uint at = (batch + row) * OBS + k;
                    mlp_rows[k] = next ? LOAD(next_obs, next_obs_texels, at) : LOAD(obs, obs_texels, at);
                }
                UNROLL for (uint o = 0u; o < DIMS; o++) mlp_rows[OBS + o] = acts ? 0.0 : policy[o * BATCH + row];
                float y[OUT], each = 0.0; // each: the log-probability
                evaluate_rows(begin, end, i, y);
                bool present = begin + LANE < end, own = present && !next;
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
                begin += LANES;
            } while (begin < BATCH);
            exchange();
            network++;
        } while (network < 2u + CRITICS);
        log_probs = mlp_sum(log_probs) / float(BATCH);

        // Networks that learn: the critics; both again, for the gradient of the smaller value with respect to the actor's
        // actions; the actor.
        float square = 0.0, least = 0.0;
        network = 0u;
        [[dont_unroll]] do {
            bool acts = network == 2u * CRITICS, passes = network >= CRITICS && !acts;
            uint one = network % CRITICS; // of the critics
            network_ins = acts ? OBS : IN;
            network_outs = acts ? OUT : 1u;
            uint own = acts ? member * actor_row : critic + (member * CRITICS + one) * critic_row;
            part_load(own);
            mlp_zero();
            uint begin = 0u, i = 0u;
            [[dont_unroll]] do {
                uint row = min(begin + LANE, BATCH - 1u), at = batch + row, end = min(begin + LANES, BATCH);
                UNROLL for (uint k = 0u; k < OBS; k++) mlp_rows[k] = LOAD(obs, obs_texels, at * OBS + k);
                float at_log_prob = alpha / float(BATCH);
                UNROLL for (uint o = 0u; o < DIMS; o++) {
                    uint e = o * BATCH + row;
                    float taken = LOAD(actions, actions_texels, at * DIMS + o), action = own_policy[e];
                    mlp_rows[OBS + o] = acts ? 0.0 : passes ? action : taken;
                    // head_backward.comp has these derivatives.
                    float at_sample = policy[e] * own_slope[e] + at_log_prob * 2.0 * action;
                    row_given[o] = acts ? at_sample : 0.0;
                    row_given[DIMS + o] = acts ? (at_sample * noise[(DIMS + o) * BATCH + row] - at_log_prob) * own_spread[e] : 0.0;
                }
                float follows = LOAD(factor, factor_texels, at);
                // If the factor is 0, the next state's value is not used, even if it is not finite.
                float aim = scale * LOAD(reward, reward_texels, at) + (follows == 0.0 ? 0.0 : follows * next_value[row]);
                row_given[0] = acts ? row_given[0] : passes ? -1.0 / float(BATCH) : aim;
                learn_rows(begin, end, !acts && !passes, !passes, i);
                bool present = begin + LANE < end;
                if (present && passes) {
                    float other = first_value[row];
                    if (one == 0u || !(other <= row_value)) {
                        UNROLL for (uint o = 0u; o < DIMS; o++) policy[o * BATCH + row] = row_at_action[o];
                    }
                    first_value[row] = row_value;
                    if (update + 1u == last) values[(member * CRITICS + one) * BATCH + row] = row_value;
                    least += one == 0u ? 0.0 : min(other, row_value);
                }
                if (present && network < CRITICS) {
                    float sum = (row_value - aim) * (row_value - aim) + (network == 0u ? 0.0 : row_loss[row]);
                    row_loss[row] = sum;
                    if (update + 1u == last) loss[member * BATCH + row] = sum; // the sum of all critics remains
                }
                begin += LANES;
            } while (begin < BATCH);
            uint to = member * gradient_row + (acts ? CRITICS * critic_row : 0u);
            // The actor's gradient counts together with that of the temperature's logarithm (equation 18).
            float at_log = -alpha * (log_probs + target_entropy[member] * float(DIMS));
            square = part_square() + (network == 0u ? 0.0 : !acts ? square : HAS_TEMPERATURE ? 0.0 : at_log * at_log);
            if (!passes) part_store(to + (acts ? 0u : network * critic_row));
            exchange();

            bool learns = acts || network + 1u == CRITICS, finite = !isnan(square) && !isinf(square);
            uint who = acts ? 1u : 0u;
            float t = float(done[who] + 1u), rate = acts ? actor_rate[member] : critic_rate[member];
            adam(Adam(acts ? own : critic + member * CRITICS * critic_row, acts ? actor_stride : critic_stride,
                      target_critic + member * CRITICS * critic_row, to,
                      learns ? (acts ? actor_row : CRITICS * critic_row) / 4u : 0u,
                      rate * bias_correction(t, log_beta_1), bias_correction(t, log_beta_2), 1.0, finite, !acts, share));
            exchange();
            if (HAS_TEMPERATURE_RATE && acts && finite) {
                float t = float(done[2] + 1u);
                heat.y = beta_1 * heat.y + gain_1 * at_log;
                heat.z = beta_2 * heat.z + gain_2 * at_log * at_log;
                heat.x -= temperature_rate[member] * bias_correction(t, log_beta_1) * heat.y / (sqrt(heat.z * bias_correction(t, log_beta_2)) + epsilon);
                done[2]++;
            }
            done[who] += learns && finite ? 1u : 0u;
            refusals[who] += learns && !finite ? 1u : 0u;
            size = network + 1u == CRITICS ? (finite ? sqrt(square) : -1.0) : size;
            network++;
        } while (network < 2u * CRITICS + 1u);
        actor_loss = alpha * log_probs - mlp_sum(least) / float(BATCH);
        update++;
    } while (update < last);

    if (LANE != 0u) return;
    critic_updates[member] = done[0];
    updates[member] = done[1];
    critic_refused[member] += refusals[0];
    refused[member] += refusals[1];
    norm[member] = size;
    sums[member] = actor_loss;
    sums[members + member] = alpha;
    if (HAS_TEMPERATURE_REFUSED) temperature_refused[member] += refusals[1];
    if (HAS_TEMPERATURE_UPDATES) {
        temperature_updates[member] = done[2];
        UNROLL for (uint i = 0u; i < 3u; i++) updated4[(logarithms + i * logarithm_stride) / 4u + member] = pack(vec4(heat[i], 0.0, 0.0, 0.0));
    }
}
