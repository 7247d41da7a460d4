#version 450

// Running mean and deviation of every member's observations, updated by a batch: the batch's moments in two passes,
// then merged into the running ones (T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise
// algorithm for computing sample variances", 1979, equation 2.1). Non-finite values are excluded and counted. With Done,
// steps that are no transitions are excluded, too.
//
// Groups: x = members, y = features.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const bool HAS_DONE = false;

#include "engine/finite.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Obs { float obs[]; };        // [T, M, E, O]
layout(std430, set = 0, binding = 1) buffer Moments { float moments[]; };         // [M, 3, O]: count, mean, sum of squared deviations
layout(std430, set = 0, binding = 2) writeonly buffer Normalizer { float normalizer[]; }; // [M, 2, O]: mean, 1 / deviation
layout(std430, set = 0, binding = 3) writeonly buffer LeftOut { float left_out[]; };      // [M, O]: number of non-finite values in this batch
layout(std430, set = 0, binding = 4) readonly buffer Done { uint done[]; };               // [T, M, E]: DONE_* flags; optional

layout(push_constant) uniform Push {
    uint horizon;
    uint environments;
};

const float MIN_DEVIATION = 1e-6; // of a constant observation
const uint DONE_VOID = 4u;        // as in envs/wrapper.glsl

void main() {
    uint member = gl_WorkGroupID.x, feature = gl_WorkGroupID.y, features = gl_NumWorkGroups.y;
    uint n = horizon * environments;
#define STEP(i) ((i / environments * gl_NumWorkGroups.x + member) * environments + i % environments)
#define OBS(i) obs[STEP(i) * features + feature]
#define COUNTS(i, x) (m_isfinite(x) && (!HAS_DONE || (done[STEP(i)] & DONE_VOID) == 0u))
    float sum = 0.0, square = 0.0, finite = 0.0, wrong = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < n; i += WORKGROUP) {
        float x = OBS(i);
        bool counts = COUNTS(i, x);
        sum += counts ? x : 0.0;
        finite += counts ? 1.0 : 0.0;
        if (HAS_DONE) wrong += m_isfinite(x) ? 0.0 : 1.0;
    }
    finite = workgroup_sum(finite);
    wrong = HAS_DONE ? workgroup_sum(wrong) : float(n) - finite;
    float batch_mean = workgroup_sum(sum) / finite;
    for (uint i = gl_LocalInvocationID.x; i < n; i += WORKGROUP) {
        float x = OBS(i), d = x - batch_mean;
        square += COUNTS(i, x) ? d * d : 0.0;
    }
    square = workgroup_sum(square);
    if (gl_LocalInvocationID.x != 0u) return;
    left_out[member * features + feature] = wrong;
    if (finite == 0.0) return;
    uint at = member * 3u * features + feature;
    float count = moments[at], mean = moments[at + features], total = count + finite;
    float delta = batch_mean - mean;
    mean += delta * finite / total;
    square += moments[at + 2u * features] + delta * delta * count * finite / total;
    moments[at] = total;
    moments[at + features] = mean;
    moments[at + 2u * features] = square;
    normalizer[member * 2u * features + feature] = mean;
    normalizer[member * 2u * features + features + feature] = 1.0 / max(sqrt(square / total), MIN_DEVIATION);
}
