#version 450

// Noisy parameters of noisy networks: mean + deviation e_a e_b (M. Fortunato et al., 2018, equation 9).
//
// Groups: x = part of a row, y = members.

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };    // [M, 2, row]: means, deviations
layout(std430, set = 0, binding = 1) readonly buffer Factor { float factors[]; };   // [M, units]
layout(std430, set = 0, binding = 2) readonly buffer Table { uint table[]; };       // [row, 2]: the factors of a parameter
layout(std430, set = 0, binding = 3) writeonly buffer Weight { float weights[]; };  // [M, row]

layout(push_constant) uniform Push {
    uint row;
    uint units;
};

void main() {
    uint member = gl_WorkGroupID.y, stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint k = gl_GlobalInvocationID.x; k < row; k += stride) {
        float e = factors[member * units + table[2u * k]] * factors[member * units + table[2u * k + 1u]];
        weights[member * row + k] = params[2u * member * row + k] + params[(2u * member + 1u) * row + k] * e;
    }
}
