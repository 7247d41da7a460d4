#version 450

// Whether each foot of a robot touches the ground, in each of a number of observations: 1 or 0. Groups: x =
// ceil(observations / local size).

#include "engine/load.glsl"
#include "engine/math.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Obs { float obs[]; };     // [N, O]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer obs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Link { vec4 link[]; };    // [L, 3]: see contacts.comp
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer link_texels;
layout(std430, set = 0, binding = 4) readonly buffer Point { vec4 point[]; };  // [points, 2]
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer point_texels;
layout(std430, set = 0, binding = 6) writeonly buffer Touching { float touching[]; }; // [N, F]

layout(push_constant) uniform Push {
    uint count;    // N
    uint features; // O
    uint points;
    uint feet;     // F
};

#include "envs/foot.glsl"

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) return;
    uint touched = touching_feet(i * features, points);
    for (uint f = 0u; f < feet; f++) touching[i * feet + f] = float((touched >> f) & 1u);
}
