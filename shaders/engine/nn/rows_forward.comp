#version 450

// A dense layer for inputs each of which has parameters of its own: row index[r] of the pool for input r. With NORMS,
// layer normalization (J. L. Ba et al., 2016, equation 4) comes before the activation. A workgroup computes one input;
// an invocation reads only outputs that it wrote.
//
// Groups: x · y ≥ inputs.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const uint ACTIVATION = 0;
layout(constant_id = 2) const bool NORMS = false;
layout(constant_id = 3) const bool HAS_NORMALIZER = false; // inputs are normalized

#include "engine/load.glsl"
#include "engine/workgroup.glsl"
#include "engine/nn/activation.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Inputs { float inputs[]; };         // [inputs, in]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer inputs_texels;
layout(std430, set = 0, binding = 2) readonly buffer Params { float params[]; };         // [pool, row]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 4) readonly buffer Index { uint index[]; };            // [inputs]: rows of the pool
layout(std430, set = 0, binding = 5) readonly buffer Normalizer { float normalizer[]; }; // [pool, 2, in]: mean, 1 / deviation
layout(std430, set = 0, binding = 6) buffer Outputs { float outputs[]; };                // [inputs, out]

layout(push_constant) uniform Push {
    uint count; // inputs
    uint pool;
    uint in_size;
    uint out_size;
    uint row;    // floats of a row
    uint weight; // offsets in the row
    uint bias;
    uint scale;
    uint shift;
    float limit; // normalized inputs are clipped to +- this
};

const float NORM_EPSILON = 1e-6; // as in norm.glsl

#define PARAM(i) LOAD(params, params_texels, i)

float input_of(uint r, uint owner, uint i) {
    float x = LOAD(inputs, inputs_texels, r * in_size + i);
    if (HAS_NORMALIZER) {
        uint moments = owner * 2u * in_size + i;
        x = clamp((x - normalizer[moments]) * normalizer[moments + in_size], -limit, limit);
    }
    return x;
}

void main() {
    unroll_apart();
    uint r = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
    if (r >= count) return;
    uint owner = min(index[r], pool - 1u), base = owner * row;
    float sum = 0.0;
    for (uint o = lane; o < out_size; o += WORKGROUP) {
        float z = PARAM(base + bias + o);
        uint w = base + weight + o, i = 0u;
        for (; i + 4u <= in_size; i += 4u) {
            [[unroll]] for (uint j = 0u; j < 4u; j++) z += input_of(r, owner, i + j) * PARAM(w + (i + j) * out_size);
        }
        for (; i < in_size; i++) z += input_of(r, owner, i) * PARAM(w + i * out_size);
        sum += z;
        outputs[r * out_size + o] = NORMS ? z : activate(ACTIVATION, z);
    }
    if (!NORMS) return;
    float mean = workgroup_sum(sum) / float(out_size), square = 0.0;
    for (uint o = lane; o < out_size; o += WORKGROUP) {
        float d = outputs[r * out_size + o] - mean;
        square += d * d;
    }
    float reciprocal = inversesqrt(workgroup_sum(square) / float(out_size) + NORM_EPSILON);
    for (uint o = lane; o < out_size; o += WORKGROUP) {
        float n = (outputs[r * out_size + o] - mean) * reciprocal;
        outputs[r * out_size + o] = activate(ACTIVATION, PARAM(base + scale + o) * n + PARAM(base + shift + o));
    }
}
