#version 450

// Gradients with respect to the means and deviations of noisy networks' parameters, from those with respect to the
// noisy parameters.
//
// Groups: x = part of a row, y = members.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Gradient { float gradient[]; }; // [splits, M, row]: with respect to the noisy parameters
layout(std430, set = 0, binding = 1) readonly buffer Factor { float factors[]; };    // [M, units]
layout(std430, set = 0, binding = 2) readonly buffer Table { uint table[]; };        // [row, 2]: the factors of a parameter
layout(std430, set = 0, binding = 3) writeonly buffer AtParams { float at_params[]; }; // [M, 2, row]: with respect to means and deviations

layout(push_constant) uniform Push {
    uint splits;
    uint row;
    uint units;
};

void main() {
    uint member = gl_WorkGroupID.y, stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint k = gl_GlobalInvocationID.x; k < row; k += stride) {
        float g = 0.0;
        for (uint s = 0u; s < splits; s++) g += gradient[(s * gl_NumWorkGroups.y + member) * row + k];
        at_params[2u * member * row + k] = g;
        at_params[(2u * member + 1u) * row + k] = g * factors[member * units + table[2u * k]] * factors[member * units + table[2u * k + 1u]];
    }
}
