#version 450

// Eigenvalues of symmetric tridiagonal matrices by implicit QL iterations (H. Bowdler, R. S. Martin, C. Reinsch, J.
// H. Wilkinson, 1968), a number of sweeps per dispatch. Their rotations are stored for eigen_rotate.comp. One
// invocation computes, the others load and store.
//
// Groups: x = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const uint DIM = 2;

#include "ec/eigen.glsl"

layout(std430, set = 0, binding = 0) buffer Diagonal { float diagonal[]; };        // [M, 2, row]
layout(std430, set = 0, binding = 1) buffer Progress { uint progress[]; };         // [M, 4 + 2 blocks]: l, m, sweeps; from 4 on rotations by block
layout(std430, set = 0, binding = 2) writeonly buffer Rotations { vec2 rotations[]; };   // [M, blocks, dim + 8, 8]: cosine and sine
layout(std430, set = 0, binding = 3) readonly buffer Clock { uint clock[]; };      // [0]: the generation

layout(push_constant) uniform Push {
    uint row;
    uint gap;    // generations between decompositions
    uint blocks; // of eight sweeps
    uint most;   // rotations
    bool begin;  // the first sweeps
};

shared float d[DIM], e[DIM]; // e[i] couples d[i] and d[i + 1]

const float EPSILON = 5.96e-8;

bool negligible(uint i) { return abs(e[i]) <= EPSILON * sqrt(abs(d[i])) * sqrt(abs(d[i + 1u])); }

// The end of the unreduced part of the matrix that begins at l.
uint part(uint l) {
    uint m = l;
    while (m + 1u < DIM && !negligible(m)) m++;
    return m;
}

void sweeps(uint search) {
    uint at = search * (4u + 2u * blocks);
    uint l = begin ? 0u : progress[at], m = begin ? part(0u) : progress[at + 1u], done = 0u, count = 0u;
    uint first = DIM, last = 0u;
    while (l < DIM && count < 8u * blocks) {
        if (l == m) {
            l++;
            if (l < DIM) m = part(l);
            continue;
        }
        if (done + (m - l) > most) break;
        done += m - l;
        uint block = count / 8u, sweep = count & 7u, to = (search * blocks + block) * (DIM + 8u);
        if (sweep == 0u) {
            first = DIM;
            last = 0u;
        }
        first = min(first, l);
        last = max(last, m - 1u);
        float g = (d[l + 1u] - d[l]) / (2.0 * e[l]), r = sqrt(g * g + 1.0);
        g = d[m] - d[l] + e[l] / (g + (g < 0.0 ? -r : r));
        float s = 1.0, c = 1.0, p = 0.0;
        uint next = m;
        bool whole = true;
        for (uint i = m; i-- > l;) {
            float f = s * e[i], b = c * e[i];
            r = sqrt(f * f + g * g);
            e[i + 1u] = r;
            if (r == 0.0) { // the matrix splits here
                d[i + 1u] -= p;
                e[m] = 0.0;
                next = i + 1u;
                whole = false;
                break;
            }
            s = f / r;
            c = g / r;
            g = d[i + 1u] - p;
            r = (d[i] - g) * s + 2.0 * c * b;
            p = s * r;
            d[i + 1u] = g + p;
            g = c * r - b;
            rotations[(to + i + 8u - sweep) * 8u + sweep] = vec2(c, s);
            if (i + 1u < m && negligible(i + 1u)) next = i + 1u;
        }
        if (whole) {
            d[l] -= p;
            e[l] = g;
            e[m] = 0.0;
            if (negligible(l)) next = l;
        }
        m = next;
        progress[at + 4u + 2u * block] = first;
        progress[at + 5u + 2u * block] = last;
        count++;
    }
    progress[at] = l;
    progress[at + 1u] = m;
    progress[at + 2u] = count;
}

void main() {
    if (!eigen_due(clock[0], gap)) return;
    uint search = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
    for (uint i = lane; i < DIM; i += WORKGROUP) {
        d[i] = diagonal[2u * search * row + i];
        e[i] = i + 1u < DIM ? diagonal[(2u * search + 1u) * row + i] : 0.0;
    }
    // Where a sweep rotates nothing, the rotation is the identity.
    for (uint i = lane; i < blocks * (DIM + 8u) * 8u; i += WORKGROUP) rotations[search * blocks * (DIM + 8u) * 8u + i] = vec2(1.0, 0.0);
    groupMemoryBarrier();
    barrier();
    if (lane == 0u) sweeps(search);
    barrier();
    for (uint i = lane; i < DIM; i += WORKGROUP) {
        diagonal[2u * search * row + i] = d[i];
        if (i + 1u < DIM) diagonal[(2u * search + 1u) * row + i] = e[i];
    }
}
