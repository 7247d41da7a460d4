#version 450
#extension GL_EXT_control_flow_attributes : require

// One step of the reduction of symmetric matrices to tridiagonal form by Householder reflections (G. H. Golub, C. F.
// Van Loan, 2013, section 8.3.1), from the last row up, as suits matrices whose small elements come first. In one
// pass over the matrix, step i applies the reflection of step i + 1, A - v w^T - w v^T with p = beta A v and w = p -
// beta/2 (p v) v, and computes the next reflection, of row i, with its p. Every workgroup computes redundantly what
// concerns the whole matrix.
//
// Groups: x = any number, which share a search's rows; y = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/workgroup.glsl"
#include "ec/eigen.glsl"

layout(std430, set = 0, binding = 0) buffer Matrix { vec4 matrix[]; };               // [M, dim, row]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer matrix_texels;
layout(std430, set = 0, binding = 2) buffer Vectors { float vectors[]; };            // [M, 2, 2, row]: v and p, of even and of odd steps
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer vectors_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Reflectors { float reflectors[]; }; // [M, blocks, dim, 8]: v, interleaved by eight steps
layout(std430, set = 0, binding = 5) buffer Beta { float beta[]; };                  // [M, row]
layout(std430, set = 0, binding = 6) writeonly buffer Diagonal { float diagonal[]; }; // [M, 2, row]: diagonal and off-diagonal of the tridiagonal matrix
layout(std430, set = 0, binding = 7) readonly buffer Clock { uint clock[]; };        // [0]: the generation

layout(push_constant) uniform Push {
    uint dim;
    uint row;
    uint step; // i
    uint gap;  // generations between decompositions
};

const uint ROWS = 4u; // at a time

uint search, vectors_at;
float v_step, w_step, half_turn; // v and w of the last reflection at i; factor from w to p
float alpha;                     // the reduced element of row i

vec4 vectors4(uint i) {
    if (TEXEL_LOADS == 2u) return imageLoad(vectors_texels, int(i));
    return vec4(vectors[4u * i], vectors[4u * i + 1u], vectors[4u * i + 2u], vectors[4u * i + 3u]);
}

// Elements of the last reflection's v and w.
void last_reflection(uint block, out vec4 v, out vec4 w) {
    v = vec4(0.0);
    w = vec4(0.0);
    if (step + 1u == dim) return;
    uint at = vectors_at / 4u + ((step + 1u) & 1u) * row / 2u + block;
    v = vectors4(at);
    w = vectors4(at + row / 4u) - half_turn * v;
}

// Elements of row i, with the last reflection applied.
vec4 row_step(uint block) {
    vec4 v, w;
    last_reflection(block, v, w);
    return LOAD4(matrix, matrix_texels, (search * dim + step) * (row / 4u) + block) - v_step * w - w_step * v;
}

// The elements of x as the vector of the next reflection.
vec4 next_reflection(uint block, vec4 x) {
    uvec4 at = 4u * block + uvec4(0u, 1u, 2u, 3u);
    x = mix(vec4(0.0), x, lessThan(at, uvec4(step)));
    return mix(x, x - alpha, equal(at + 1u, uvec4(step)));
}

void main() {
    if (!eigen_due(clock[0], gap)) return;
    search = gl_WorkGroupID.y;
    vectors_at = search * 4u * row;
    uint lane = gl_LocalInvocationID.x, fours = step / 4u + 1u, last = vectors_at + ((step + 1u) & 1u) * 2u * row, to = vectors_at + (step & 1u) * 2u * row;
    bool first = step + 1u == dim, leads = gl_WorkGroupID.x == 0u;

    v_step = w_step = half_turn = 0.0;
    if (!first) {
        float product = 0.0;
        for (uint i = lane; i < fours; i += WORKGROUP) {
            vec4 v, p; // p, if half_turn is zero
            last_reflection(i, v, p);
            product += dot(v, p);
        }
        half_turn = 0.5 * beta[search * row + step + 1u] * workgroup_sum(product);
        v_step = vectors[last + step];
        w_step = vectors[last + row + step] - half_turn * v_step;
    }

    float rest = 0.0, end = 0.0, corner = 0.0;
    for (uint i = lane; i < fours; i += WORKGROUP) {
        vec4 x = row_step(i);
        [[unroll]] for (uint k = 0u; k < 4u; k++) {
            uint at = 4u * i + k;
            if (at + 1u < step) rest += x[k] * x[k];
            if (at + 1u == step) end += x[k];
            if (at == step) corner += x[k];
        }
    }
    rest = workgroup_sum(rest);
    end = workgroup_sum(end);
    corner = workgroup_sum(corner);
    alpha = end;
    float turn = 0.0;
    if (rest > 1e-35) {
        alpha = (end < 0.0 ? 1.0 : -1.0) * sqrt(rest + end * end);
        turn = 2.0 / (rest + (end - alpha) * (end - alpha));
    }
    if (leads && lane == 0u) {
        beta[search * row + step] = turn;
        diagonal[2u * search * row + step] = corner;
        if (step > 0u) diagonal[(2u * search + 1u) * row + step - 1u] = alpha;
    }
    if (leads) {
        uint blocks = (dim + 7u) / 8u, whole = min(row / 4u, 2u * (step / 8u) + 2u); // also zeros, as far as the other steps of the block have elements
        for (uint i = lane; i < whole; i += WORKGROUP) {
            vec4 x = next_reflection(i, row_step(i));
            [[unroll]] for (uint k = 0u; k < 4u; k++) {
                float v = turn > 0.0 ? x[k] : 0.0;
                if (4u * i + k < dim) reflectors[((search * blocks + step / 8u) * dim + 4u * i + k) * 8u + (step & 7u)] = v;
                if (i < fours) vectors[to + 4u * i + k] = v;
            }
        }
    }
    if (step == 0u) return;

    for (uint r = ROWS * gl_WorkGroupID.x; r < 4u * fours; r += ROWS * gl_NumWorkGroups.x) {
        vec2 at[ROWS];
        float product[ROWS];
        [[unroll]] for (uint k = 0u; k < ROWS; k++) {
            at[k] = vec2(0.0);
            product[k] = 0.0;
            if (!first && r + k < step) {
                at[k].x = vectors[last + r + k];
                at[k].y = vectors[last + row + r + k] - half_turn * at[k].x;
            }
        }
        for (uint i = lane; i < fours; i += WORKGROUP) {
            vec4 v, w;
            last_reflection(i, v, w);
            vec4 x = next_reflection(i, row_step(i));
            [[unroll]] for (uint k = 0u; k < ROWS; k++) {
                if (r + k < step) {
                    uint place = (search * dim + r + k) * (row / 4u) + i;
                    vec4 a = LOAD4(matrix, matrix_texels, place) - at[k].x * w - at[k].y * v;
                    matrix[place] = a;
                    product[k] += dot(a, x);
                }
            }
        }
        [[unroll]] for (uint k = 0u; k < ROWS; k++) {
            float sum = turn * workgroup_sum(product[k]); // zero from row i on
            if (lane == 0u) vectors[to + row + r + k] = sum;
        }
    }
}
