#version 450

// Sums over parts of every member's gradient, summed over splits, for norm.comp: of its squares and, with ClipUp, of its
// products with the velocity and of the velocity's squares. One workgroup would take long for the gradient of a large network.
//
// Groups: x = parts, y = members.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

layout(constant_id = 1) const bool CLIPUP = false;

#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Gradient { vec4 gradient[]; };  // [splits, M, row]
layout(std430, set = 0, binding = 1) writeonly buffer Sums { vec4 sums[]; };         // [M, parts]: squares, products, squares of the velocity, 0
layout(set = 0, binding = 2, rgba32f) readonly uniform imageBuffer gradient_texels;
layout(std430, set = 0, binding = 3) readonly buffer First { vec4 first[]; };        // [M, row]: ClipUp's velocity; optional
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer first_texels;

layout(push_constant) uniform Push {
    uint splits; // parts that the gradient is summed from
    uint row;    // floats of a member's gradient, a multiple of four
    uint part;   // vec4 of a part
};

#include "engine/optim/squares.glsl"

void main() {
    uint member = gl_WorkGroupID.y, begin = gl_WorkGroupID.x * part, end = min(begin + part, row / 4u);
    float square = 0.0, along = 0.0, speed = 0.0;
    if (CLIPUP) {
        CLIPUP_SUMS(square, along, speed, splits, row, gl_NumWorkGroups.y, begin, end)
    } else {
        NORM_SQUARES(square, gradient, gradient_texels, splits, row, gl_NumWorkGroups.y, begin, end)
    }
    square = workgroup_sum(square);
    if (CLIPUP) {
        along = workgroup_sum(along);
        speed = workgroup_sum(speed);
    }
    if (gl_LocalInvocationID.x == 0u) sums[member * gl_NumWorkGroups.x + gl_WorkGroupID.x] = vec4(square, along, speed, 0.0);
}
