#version 450
#extension GL_EXT_control_flow_attributes : require

// Mean, path, v, D and sigma of CR-FM-NES: steps 8 to 12 of algorithm 1 of M. Nomura, I. Ono, 2022. The natural
// gradients t and s of v and D are linear in the candidates' contributions, so they are computed from weighted sums
// over the candidates and from the path.
//
// Groups: x = searches.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;

#include "engine/load.glsl"
#include "engine/math.glsl"
#include "engine/workgroup.glsl"
#include "ec/deviation.glsl"

layout(std430, set = 0, binding = 0) readonly buffer First { vec4 first[]; };      // [splits, M, row]: sum of w z
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer first_texels;
layout(std430, set = 0, binding = 2) readonly buffer Second { vec4 second[]; };    // [splits, M, row]: sum of w z^2
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer second_texels;
layout(std430, set = 0, binding = 4) readonly buffer Third { vec4 third[]; };      // [splits, M, row]: sum of w q z
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer third_texels;
layout(std430, set = 0, binding = 6) readonly buffer Factors { vec4 factors[]; };  // [M]: sum w q, sum w q^2, sum w |z|^2, the learning rate of sigma
layout(std430, set = 0, binding = 7) buffer Mean { vec4 mean[]; };                 // [M, row]
layout(std430, set = 0, binding = 8) buffer Path { vec4 path[]; };                 // [M, row]: p_c
layout(std430, set = 0, binding = 9) buffer V { vec4 v[]; };                       // [M, row]
layout(set = 0, binding = 10, rgba32f) readonly uniform imageBuffer v_texels;
layout(std430, set = 0, binding = 11) buffer Deviation { vec4 deviation[]; };      // [M, row]: D
layout(set = 0, binding = 12, rgba32f) readonly uniform imageBuffer deviation_texels;
layout(std430, set = 0, binding = 13) buffer Sigma { float sigma[]; };             // [M]
layout(std430, set = 0, binding = 14) buffer Gradients { vec4 gradients[]; };      // [M, 2, row]: t and s

layout(push_constant) uniform Push {
    uint splits;
    uint dim;
    uint row;
    float keep; // 1 - c_c
    float gain; // sqrt(c_c (2 - c_c) mu_eff)
    float rate; // eta_B
    float c1;
};

void main() {
    uint search = gl_WorkGroupID.x, searches = gl_NumWorkGroups.x, fours = row / 4u, base = search * fours, lane = gl_LocalInvocationID.x;
    vec4 known = factors[search];

    float n2 = 0.0, longest = 0.0; // |v|^2, the largest element of v squared
    for (uint i = lane; i < fours; i += WORKGROUP) {
        vec4 x = LOAD4(v, v_texels, base + i);
        n2 += dot(x, x);
        longest = max(longest, max(max(x.x * x.x, x.y * x.y), max(x.z * x.z, x.w * x.w)));
    }
    n2 = max(workgroup_sum(n2), 1e-30);
    longest = -workgroup_min(-longest);
    float norm = sqrt(n2), gamma = 1.0 + n2, root = sqrt(gamma), more = n2 / (root + 1.0); // more = sqrt(1 + |v|^2) - 1

    // Mean and path; y = p_c/D and its product with the direction of v.
    float ip = 0.0;
    for (uint i = lane; i < fours; i += WORKGROUP) {
        vec4 z = vec4(0.0);
        for (uint s = 0u; s < splits; s++) {
            uint at = (s * searches + search) * fours + i;
            z += LOAD4(first, first_texels, at);
        }
        vec4 w = LOAD4(v, v_texels, base + i) / norm, d = LOAD4(deviation, deviation_texels, base + i);
        vec4 shift = d * (z + more * known.x * w);
        mean[base + i] += sigma[search] * shift;
        vec4 p = keep * path[base + i] + gain * shift;
        path[base + i] = p;
        ip += dot(p / max(d, vec4(LEAST_DEVIATION)), w);
    }
    ip = workgroup_sum(ip);

    // Step 9: t, and s before its corrections.
    float vt = 0.0;
    for (uint i = lane; i < fours; i += WORKGROUP) {
        vec4 squares = vec4(0.0), zq = vec4(0.0);
        for (uint s = 0u; s < splits; s++) {
            uint at = (s * searches + search) * fours + i;
            squares += LOAD4(second, second_texels, at);
            zq += LOAD4(third, third_texels, at);
        }
        vec4 w = LOAD4(v, v_texels, base + i) / norm, y = path[base + i] / max(LOAD4(deviation, deviation_texels, base + i), vec4(LEAST_DEVIATION));
        vec4 yip = root * (zq + more * known.y * w); // sum of weight, y and its product with w; the weights sum to zero
        vec4 t = rate * (yip - 0.5 * gamma * known.y * w) + c1 * (y * ip - 0.5 * (ip * ip + gamma) * w);
        vec4 s = rate * (squares + 2.0 * more * w * zq + more * more * known.y * w * w - n2 / gamma * w * yip) + c1 * (y * y - n2 / gamma * ip * w * y - 1.0);
        gradients[2u * base + i] = t;
        gradients[2u * base + fours + i] = s;
        vt += dot(w, t);
    }
    vt = workgroup_sum(vt);

    float alpha = min(1.0, sqrt(n2 * n2 + (2.0 * gamma - root) / (longest / n2)) / (2.0 + n2));
    float b = -(1.0 - alpha * alpha) * n2 * n2 / gamma + 2.0 * alpha * alpha;
    float wh = 0.0, hs = 0.0;
    for (uint i = lane; i < fours; i += WORKGROUP) {
        vec4 w = LOAD4(v, v_texels, base + i) / norm, ww = w * w;
        vec4 t = gradients[2u * base + i], s = gradients[2u * base + fours + i];
        s -= alpha / gamma * ((2.0 + n2) * t * w - n2 * vt * ww);
        gradients[2u * base + fours + i] = s;
        vec4 h = ww / (2.0 - (b + 2.0 * alpha * alpha) * ww);
        wh += dot(ww, h);
        hs += dot(h, s);
    }
    wh = workgroup_sum(wh);
    hs = workgroup_sum(hs);
    float ws = 0.0;
    for (uint i = lane; i < fours; i += WORKGROUP) {
        vec4 w = LOAD4(v, v_texels, base + i) / norm, ww = w * w, h = 1.0 / (2.0 - (b + 2.0 * alpha * alpha) * ww);
        vec4 s = gradients[2u * base + fours + i] * h - b / (1.0 + b * wh) * hs * ww * h;
        gradients[2u * base + fours + i] = s;
        ws += dot(ww, s);
    }
    ws = workgroup_sum(ws);

    // Steps 10 and 11: the determinant of D (I + v v^T)^(1/2) stays one.
    float logs = 0.0, square = 0.0;
    for (uint i = lane; i < fours; i += WORKGROUP) {
        vec4 x = LOAD4(v, v_texels, base + i), w = x / norm, d = LOAD4(deviation, deviation_texels, base + i), s = gradients[2u * base + fours + i];
        x += (gradients[2u * base + i] - alpha * ((2.0 + n2) * s * w - ws * w)) / norm;
        d *= max(1.0 + s, vec4(0.01)); // deviations stay positive
        v[base + i] = x;
        gradients[2u * base + i] = d;
        square += dot(x, x);
        [[unroll]] for (uint k = 0u; k < 4u; k++) {
            if (4u * i + k < dim) logs += m_log(d[k]);
        }
    }
    logs = workgroup_sum(logs);
    square = workgroup_sum(square);
    float scale = m_exp(-logs / float(dim) - m_log(1.0 + square) / (2.0 * float(dim)));
    for (uint i = lane; i < fours; i += WORKGROUP) {
        vec4 d = limit_deviation(gradients[2u * base + i] * scale);
        uvec4 at = 4u * i + uvec4(0u, 1u, 2u, 3u);
        deviation[base + i] = mix(vec4(0.0), d, lessThan(at, uvec4(dim)));
    }
    if (lane == 0u) sigma[search] = limit_deviation(sigma[search] * m_exp(clamp(0.5 * known.w * known.z / float(dim), -20.0, 20.0)));
}
