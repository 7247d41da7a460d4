#version 450

// Competitive swarm optimization of a hyperparameter (R. Cheng, Y. Jin, 2015; the form of B. Zheng et al., "EvoRL",
// 2025, section 5.2.3): a student s of teacher t moves by v_s = r1 v_s + r2 (theta_t - theta_s), theta_s = theta_s +
// v_s, along the prior's coordinate. A student whose own value or velocity is not finite restarts at its teacher's
// value with velocity 0. Groups: x = ceil(members / local size).

#include "engine/finite.glsl"
#include "engine/rng.glsl"
#include "hybrid/prior.glsl"

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Source { uint source[]; };   // [M]: the teacher; teachers have themselves
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };     // [0]: the iteration
layout(std430, set = 0, binding = 2) buffer Values { float values[]; };           // [M]; teachers' are not changed
layout(std430, set = 0, binding = 3) buffer Velocity { float velocity[]; };       // [M]

layout(push_constant) uniform Push {
    uint members;
    uint seed;
    uint stream; // of this hyperparameter alone
    uint prior;
    float low;   // coordinates
    float high;
};

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= members || source[p] == p) {
        return;
    }
    Rng rng = rng_new(seed, stream, p, 0u, clock[0]);
    float r1 = rng_uniform(rng), r2 = rng_uniform(rng);
    float x = prior_coordinate(prior, values[p]), teacher = prior_coordinate(prior, values[source[p]]);
    float v = r1 * velocity[p] + r2 * (teacher - x);
    if (!m_isfinite(v)) {
        x = teacher;
        v = 0.0;
    }
    velocity[p] = v;
    values[p] = prior_value(prior, clamp(x + v, low, high));
}
