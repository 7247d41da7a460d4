#version 450

// The likelihood of the observations for each of the Gaussian process's settings, up to a constant: with the most
// likely variance v, log p = -n / 2 log v - log det L. Groups: x = settings.

layout(local_size_x = 128, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 128;

#include "hybrid/gaussian_process.glsl"

layout(std430, set = 0, binding = 3) writeonly buffer Likelihood { float likelihood[]; }; // [settings]

layout(push_constant) uniform Push { uint rows; };

void main() {
    gather_observations(rows);
    float logs = factorize(settings_of(gl_WorkGroupID.x), observed);
    float v = variance();
    if (gl_LocalInvocationID.x == 0u) likelihood[gl_WorkGroupID.x] = -0.5 * float(observed) * m_log(v) - logs;
}
