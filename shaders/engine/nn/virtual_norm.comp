#version 450

// Virtual batch normalization of a layer over a reference batch (T. Salimans et al., "Improved Techniques for Training GANs", 2016, section 3.4):
// from the products z = x W of every channel of every network, over all rows of the batch, the factor s = scale / sqrt(variance + EPSILON), and the bias
// b = shift - mean * s; z becomes activate(s * z + b) in place. Sums are in the same order on every device.
//
// Groups: x = ceil(channels / CHANNELS), y = N.

#include "engine/load.glsl"
#include "engine/nn/activation.glsl"

const uint CHANNELS = 16u, PARTS = 8u; // channels of a workgroup, and the parts of the rows that its invocations sum
const float EPSILON = 1e-3;            // TensorFlow's default, as in the networks of evolution strategies on Atari (F. P. Such et al., 2017)

layout(local_size_x = 128) in;
layout(constant_id = 1) const uint ACTIVATION = 0;

layout(std430, set = 0, binding = 0) readonly buffer Products { float products[]; };   // [N, rows, channels]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer products_texels;
layout(std430, set = 0, binding = 2) readonly buffer Params { float params[]; };       // [N, row]: shift where the network has its bias, and scale
layout(std430, set = 0, binding = 3) writeonly buffer Values { float values[]; };      // as Products
layout(std430, set = 0, binding = 4) writeonly buffer Factors { float factors[]; };    // [N, channels]: s
layout(std430, set = 0, binding = 5) writeonly buffer Folded { float folded[]; };      // [N, folded_row]: b where the network has its bias

layout(push_constant) uniform Push {
    uint channels;
    uint rows;         // of a network
    uint stride;       // floats from a network's products to the next ones
    uint pitch;        // floats from row to row
    uint param_at;     // the first network's row
    uint param_row;    // floats from row to row
    uint bias;         // offset in it
    uint scale;
    uint folded_at;    // likewise of the folded rows
    uint folded_row;
    uint factor_row;   // floats from a network's factors to the next ones
};

shared float partial[CHANNELS * PARTS];

// sum returns the sum of a channel's parts.
float sum(uint me, uint lane, float part) {
    barrier();
    partial[me] = part;
    barrier();
    float total = 0.0;
    for (uint p = 0u; p < PARTS; p++) total += partial[p * CHANNELS + lane];
    return total;
}

void main() {
    uint me = gl_LocalInvocationID.x, lane = me % CHANNELS, part = me / CHANNELS, network = gl_WorkGroupID.y;
    uint channel = gl_WorkGroupID.x * CHANNELS + lane;
    bool present = channel < channels; // all invocations take part in the sums
    uint first = network * stride + min(channel, channels - 1u);
    float total = 0.0;
    for (uint r = part; r < rows; r += PARTS) total += LOAD(products, products_texels, first + r * pitch);
    float mean = sum(me, lane, total) / float(rows);
    total = 0.0;
    for (uint r = part; r < rows; r += PARTS) {
        float d = LOAD(products, products_texels, first + r * pitch) - mean;
        total += d * d;
    }
    float variance = sum(me, lane, total) / float(rows);
    if (!present) return;
    uint from = param_at + network * param_row;
    float s = params[from + scale + channel] * inversesqrt(variance + EPSILON), b = params[from + bias + channel] - mean * s;
    for (uint r = part; r < rows; r += PARTS) {
        values[first + r * pitch] = activate(ACTIVATION, s * LOAD(products, products_texels, first + r * pitch) + b);
    }
    if (part == 0u) {
        factors[network * factor_row + channel] = s;
        folded[folded_at + network * folded_row + bias + channel] = b;
    }
}
