#version 450

// Exploration of a hyperparameter of the replaced members (M. Jaderberg et al., 2017, section 4.1): with probability
// `resample` it is drawn from the prior, otherwise multiplied by 1 - factor or 1 + factor (for horizons, g is). It is
// then clamped to the prior's range. Groups: x = ceil(members / local size).

#include "engine/rng.glsl"
#include "hybrid/prior.glsl"

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; }; // [M]
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };   // [0]: the iteration
layout(std430, set = 0, binding = 2) buffer Values { float values[]; };         // [M]

layout(push_constant) uniform Push {
    uint members;
    uint seed;
    uint stream; // of this hyperparameter alone
    uint prior;
    float low;   // coordinates
    float high;
    float factor;
    float resample;
};

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= members || source[p] == p) {
        return;
    }
    Rng rng = rng_new(seed, stream, p, 0u, clock[0]);
    bool fresh = rng_uniform(rng) < resample;
    float change = rng_uniform(rng) < 0.5 ? 1.0 - factor : 1.0 + factor;
    float drawn = rng_uniform(rng, low, high);
    float x = prior_coordinate(prior, values[p]);
    x = fresh ? drawn : prior == PRIOR_LOG_UNIFORM ? x + m_log(change) : x * change;
    values[p] = prior_value(prior, clamp(x, low, high));
}
