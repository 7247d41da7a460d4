#version 450

// DvD-ES (J. Parker-Holder et al., 2020, equation 8): (1 - lambda) return + lambda determinant, both standardized over
// an agent's candidates. Returns that are not finite are copied and excluded from the moments. Groups: x = agents.

#include "engine/finite.glsl"
#include "engine/load.glsl"

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 8;

#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Return { float returns[]; };          // [M, N]
layout(std430, set = 0, binding = 1) readonly buffer Determinant { float determinant[]; }; // [N]
layout(std430, set = 0, binding = 2) readonly buffer Weight { float weight[]; };           // [1]: lambda
layout(std430, set = 0, binding = 3) writeonly buffer Fitness { float fitness[]; };        // [M, N]

layout(push_constant) uniform Push {
    uint candidates; // N
};

void main() {
    uint me = gl_LocalInvocationID.x, base = gl_WorkGroupID.x * candidates;
    vec3 sum = vec3(0.0); // number of finite returns, their sum, sum of determinants
    for (uint k = me; k < candidates; k += WORKGROUP) {
        float r = returns[base + k];
        if (m_isfinite(r)) sum += vec3(1.0, r, 0.0);
        sum.z += determinant[k];
    }
    float count = workgroup_sum(sum.x), all = float(candidates);
    float mean = workgroup_sum(sum.y) / max(count, 1.0), middle = workgroup_sum(sum.z) / all;
    vec2 square = vec2(0.0);
    for (uint k = me; k < candidates; k += WORKGROUP) {
        float r = returns[base + k], d = determinant[k] - middle;
        if (m_isfinite(r)) square.x += (r - mean) * (r - mean);
        square.y += d * d;
    }
    float spread = workgroup_sum(square.x) / max(count, 1.0), wide = workgroup_sum(square.y) / all, lambda = weight[0];
    // If all are equal, all are standardized to 0.
    float by = spread > 0.0 ? inversesqrt(spread) : 0.0, per = wide > 0.0 ? inversesqrt(wide) : 0.0;
    for (uint k = me; k < candidates; k += WORKGROUP) {
        float r = returns[base + k];
        fitness[base + k] = m_isfinite(r) ? (1.0 - lambda) * (r - mean) * by + lambda * (determinant[k] - middle) * per : r;
    }
}
