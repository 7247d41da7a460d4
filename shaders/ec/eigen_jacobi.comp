#version 450

// Eigenvalues and eigenvectors of small covariance matrices by Jacobi's method, with simultaneous rotations of
// disjoint pairs (R. P. Brent, F. T. Luk, 1985). The matrix is given in the basis of its previous eigenvectors,
// nearly diagonal, and is updated first. Off-diagonal elements are measured relative to the diagonal ones of their
// row and column. Small eigenvalues are then as accurate as large ones (J. Demmel, K. Veselic, 1992), and condition
// numbers may exceed what float32 resolves in the matrix itself.
//
// Groups: x = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const uint DIM = 1;

#include "engine/load.glsl"
#include "engine/workgroup.glsl"
#include "ec/eigen.glsl"

layout(std430, set = 0, binding = 0) buffer Covariance { float covariance[]; };   // [M, dim, row], in the basis
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer covariance_texels;
layout(std430, set = 0, binding = 2) readonly buffer Change { float change[]; };  // [M, dim, row]: to be added
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer change_texels;
layout(std430, set = 0, binding = 4) readonly buffer Keep { float keep[]; };      // [M]: factor of the previous matrix
layout(std430, set = 0, binding = 5) buffer Basis { float basis[]; };             // [M, dim, row]: one eigenvector per row
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer basis_texels;
layout(std430, set = 0, binding = 7) writeonly buffer Scale { float scale[]; };   // [M, row]: square roots of the eigenvalues
layout(std430, set = 0, binding = 8) readonly buffer Clock { uint clock[]; };     // [0]: the generation

layout(push_constant) uniform Push {
    uint row;
    uint gap; // generations between decompositions
};

const uint PLAYERS = DIM + (DIM & 1u); // one stands aside if the dimension is odd
const uint PAIRS = PLAYERS / 2u;
const uint STRIDE = DIM | 1u;          // odd, to avoid bank conflicts of columns
const uint SWEEPS = 12u;               // about four are usual
const float NEGLIGIBLE = 4e-7;

shared float h[DIM * STRIDE], v[DIM * STRIDE];
shared vec2 turns[PAIRS]; // cosine and sine

// Pair k of a round: every two players meet once in PLAYERS - 1 rounds.
uvec2 pair(uint round, uint k) {
    const uint last = PLAYERS - 1u;
    uint a = round + k, b = round + last - k;
    a = k == 0u ? last : a >= last ? a - last : a;
    b = b >= last ? b - last : b;
    return uvec2(min(a, b), max(a, b));
}

void main() {
    uint search = gl_WorkGroupID.x, base = search * DIM * row, lane = gl_LocalInvocationID.x;
    float k = keep[search];
    bool due = eigen_due(clock[0], gap);
    for (uint i = 0u; i < DIM; i++) {
        for (uint j = lane; j < DIM; j += WORKGROUP) {
            uint at = base + max(i, j) * row + min(i, j); // the lower triangle determines both
            float c = k * LOAD(covariance, covariance_texels, at) + LOAD(change, change_texels, at);
            h[i * STRIDE + j] = c;
            v[i * STRIDE + j] = LOAD(basis, basis_texels, base + i * row + j);
        }
    }
    barrier();
    if (!due) {
        for (uint i = 0u; i < DIM; i++) {
            for (uint j = lane; j < DIM; j += WORKGROUP) covariance[base + i * row + j] = h[i * STRIDE + j];
        }
        return;
    }
    bool turned = true;
    for (uint sweep = 0u; sweep < SWEEPS && turned; sweep++) {
        turned = false;
        for (uint round = 0u; round < PLAYERS - 1u; round++) {
            uint count = 0u;
            for (uint p = lane; p < PAIRS; p += WORKGROUP) {
                uvec2 at = pair(round, p);
                vec2 turn = vec2(1.0, 0.0);
                if (at.y < DIM) {
                    float a = h[at.x * STRIDE + at.x], b = h[at.y * STRIDE + at.y], x = h[at.x * STRIDE + at.y];
                    if (abs(x) > NEGLIGIBLE * sqrt(a) * sqrt(b)) {
                        float tau = (b - a) / (2.0 * x);
                        float t = (tau < 0.0 ? -1.0 : 1.0) / (abs(tau) + sqrt(1.0 + tau * tau));
                        float c = inversesqrt(1.0 + t * t);
                        turn = vec2(c, t * c);
                        count++;
                        h[at.x * STRIDE + at.x] = a - t * x;
                        h[at.y * STRIDE + at.y] = b + t * x;
                        h[at.x * STRIDE + at.y] = 0.0;
                        h[at.y * STRIDE + at.x] = 0.0;
                    }
                }
                turns[p] = turn;
            }
            barrier();
            if (workgroup_sum(count) == 0u) continue;
            turned = true;
            // The rows and columns of two pairs intersect in four elements.
            for (uint i = lane; i < PAIRS * PAIRS; i += WORKGROUP) {
                uint p = i / PAIRS, q = i % PAIRS;
                vec2 left = turns[p], right = turns[q];
                if (p != q && (left.y != 0.0 || right.y != 0.0)) {
                    uvec2 a = pair(round, p) * STRIDE, b = pair(round, q);
                    bool two = a.y < DIM * STRIDE, wide = b.y < DIM;
                    float xx = h[a.x + b.x], xy = wide ? h[a.x + b.y] : 0.0, yx = two ? h[a.y + b.x] : 0.0, yy = two && wide ? h[a.y + b.y] : 0.0;
                    vec2 above = vec2(left.x * xx - left.y * yx, left.x * xy - left.y * yy);
                    vec2 below = vec2(left.y * xx + left.x * yx, left.y * xy + left.x * yy);
                    h[a.x + b.x] = right.x * above.x - right.y * above.y;
                    if (wide) h[a.x + b.y] = right.y * above.x + right.x * above.y;
                    if (two) h[a.y + b.x] = right.x * below.x - right.y * below.y;
                    if (two && wide) h[a.y + b.y] = right.y * below.x + right.x * below.y;
                }
            }
            for (uint i = lane; i < PAIRS * DIM; i += WORKGROUP) {
                uint p = i / DIM, column = i % DIM;
                vec2 turn = turns[p];
                if (turn.y != 0.0) {
                    uvec2 a = pair(round, p) * STRIDE + column;
                    float x = v[a.x], y = v[a.y];
                    v[a.x] = turn.x * x - turn.y * y;
                    v[a.y] = turn.y * x + turn.x * y;
                }
            }
            barrier();
        }
    }
    float largest = 0.0;
    for (uint i = lane; i < DIM; i += WORKGROUP) largest = max(largest, h[i * STRIDE + i]);
    largest = -workgroup_min(-largest);
    for (uint i = lane; i < DIM; i += WORKGROUP) {
        float root = eigen_root(h[i * STRIDE + i], largest);
        scale[search * row + i] = root;
        for (uint j = 0u; j < DIM; j++) covariance[base + i * row + j] = i == j ? root * root : 0.0;
    }
    barrier();
    // One step towards orthogonal eigenvectors, V (3 - V^T V) / 2, so that rounding does not accumulate over the
    // generations.
    for (uint i = lane; i < DIM * DIM; i += WORKGROUP) {
        uint p = i / DIM, q = i % DIM;
        float sum = 0.0;
        for (uint c = 0u; c < DIM; c++) sum += v[p * STRIDE + c] * v[q * STRIDE + c];
        h[p * STRIDE + q] = sum;
    }
    barrier();
    for (uint i = lane; i < DIM * DIM; i += WORKGROUP) {
        uint p = i / DIM, c = i % DIM;
        float sum = 0.0;
        for (uint q = 0u; q < DIM; q++) sum += h[p * STRIDE + q] * v[q * STRIDE + c];
        basis[base + p * row + c] = 1.5 * v[p * STRIDE + c] - 0.5 * sum;
    }
}
