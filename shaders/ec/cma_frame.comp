#version 450

// The evolution path of the covariance matrix in the basis of the eigenvectors, B^T p_c, appended to the candidates'
// noise, and c_1 times it appended to the weighted noise, so that one matrix product computes both sums of equation
// 47 of N. Hansen, 2016.
//
// Groups: x = any number, which share a search's eigenvectors; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/workgroup.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Basis { vec4 basis[]; };          // [M, dim, row]: one eigenvector per row
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer basis_texels;
layout(std430, set = 0, binding = 2) readonly buffer Path { vec4 path[]; };            // [M, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer path_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Noise { float noise[]; };        // [M, N + 1, row]
layout(std430, set = 0, binding = 5) writeonly buffer Weighted { float weighted[]; };  // [M, N + 1, row]

layout(push_constant) uniform Push {
    uint population;
    uint dim;
    uint row;
    float c1;
};

void main() {
    uint search = gl_WorkGroupID.y, fours = row / 4u, to = (search * (population + 1u) + population) * row;
    for (uint j = gl_WorkGroupID.x; j < row; j += gl_NumWorkGroups.x) {
        float q = 0.0;
        if (j < dim) {
            for (uint i = gl_LocalInvocationID.x; i < fours; i += WORKGROUP) {
                q += dot(LOAD4(basis, basis_texels, (search * dim + j) * fours + i), LOAD4(path, path_texels, search * fours + i));
            }
        }
        q = workgroup_sum(q);
        if (gl_LocalInvocationID.x == 0u) {
            noise[to + j] = q;
            weighted[to + j] = c1 * q;
        }
    }
}
