#version 450

// Running mean and deviation of every member's observations, updated by sums over a batch: the number of
// observations, their deviations from the running mean, and the squared deviations, merged as in normalizer.comp.
// Groups: x = ceil(members * features / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Sums { float sums[]; };              // [M, 1 + 2 O]
layout(std430, set = 0, binding = 1) buffer Moments { float moments[]; };                 // [M, 3, O]: count, mean, sum of squared deviations
layout(std430, set = 0, binding = 2) writeonly buffer Normalizer { float normalizer[]; }; // [M, 2, O]: mean, 1 / deviation

layout(push_constant) uniform Push {
    uint members;
    uint features;
};

const float MIN_DEVIATION = 1e-6; // of a constant observation

void main() {
    if (gl_GlobalInvocationID.x >= members * features) return;
    uint member = gl_GlobalInvocationID.x / features, feature = gl_GlobalInvocationID.x % features;
    uint from = member * (1u + 2u * features), at = member * 3u * features + feature;
    float n = sums[from];
    if (!(n > 0.0)) return; // no observations
    float delta = sums[from + 1u + feature] / n;
    float batch = max(sums[from + 1u + features + feature] - n * delta * delta, 0.0);
    float count = moments[at], total = count + n;
    float mean = moments[at + features] + delta * n / total;
    float square = moments[at + 2u * features] + batch + delta * delta * count * n / total;
    moments[at] = total;
    moments[at + features] = mean;
    moments[at + 2u * features] = square;
    normalizer[member * 2u * features + feature] = mean;
    normalizer[member * 2u * features + features + feature] = 1.0 / max(sqrt(square / total), MIN_DEVIATION);
}
