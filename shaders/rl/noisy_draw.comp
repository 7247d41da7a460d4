#version 450

// Factors of the noise of noisy networks' parameters, sgn(x) sqrt|x| of standard normal x, one for each input and each
// output of every layer (M. Fortunato et al., "Noisy Networks for Exploration", 2018, equations 10 and 11). The first
// two are the constants 1 and 0: the second factor of biases, and the factors of parameters without noise.
//
// Groups: x = ceil(units / local size), y = sets * members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const bool HAS_UPDATE = false;

#include "engine/rng.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Clock { uint clock[]; };       // [0]: the iteration; [1]: steps of every environment
layout(std430, set = 0, binding = 1) readonly buffer Update { uint update[]; };     // [0]: the update of the iteration; optional
layout(std430, set = 0, binding = 2) writeonly buffer Factor { float factors[]; };  // [sets, M, units]

layout(push_constant) uniform Push {
    uint members;
    uint units;
    uint seed;
    uint stream;
};

void main() {
    uint unit = gl_GlobalInvocationID.x, of = gl_WorkGroupID.y, member = of % members;
    if (unit >= units) return;
    uvec4 key = philox(uvec2(seed, stream), uvec4(member, of / members, clock[0], HAS_UPDATE ? update[0] : clock[1]));
    Rng rng = rng_new(key.x, key.y, member, unit, 0u);
    float x = rng_normal(rng);
    factors[of * units + unit] = unit < 2u ? float(1u - unit) : sign(x) * sqrt(abs(x));
}
