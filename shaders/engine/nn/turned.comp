#version 450

// The weights of convolutions, turned by half a circle with inputs and outputs exchanged: the gradient at a convolution's images is the convolution of the
// gradient at its values with them, where it moves by one pixel. Where a step is more, pixels with the same place under a step have a convolution each, with
// every STRIDE-th row and column of the weights; those with the same row under it are columns of one product. Row (row under a step, y, x, output) of the
// turned weights has the floats of (column under a step, input).
//
// Groups: x = ceil(KERNEL^2 * OUTPUTS * INPUTS / local size), z = networks.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint KERNEL = 1;  // rows and columns of the window, a multiple of
layout(constant_id = 2) const uint STRIDE = 1;  // its step
layout(constant_id = 3) const uint INPUTS = 1;  // channels of the images
layout(constant_id = 4) const uint OUTPUTS = 1; // of the values

const uint SIDE = KERNEL / STRIDE; // steps under the window
const uint COLUMNS = STRIDE * INPUTS;

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };  // of each network, among others, [KERNEL, KERNEL, INPUTS, OUTPUTS]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Turned { float turned[]; }; // [networks, STRIDE, SIDE, SIDE, OUTPUTS, COLUMNS], rows padded to `pitch`

layout(push_constant) uniform Push {
    uint weight_at;    // the first network's weights
    uint weight_pitch; // floats from network to network
    uint pitch;        // floats from row to row of turned weights
    uint turned_pitch; // likewise from network to network
};

void main() {
    uint j = gl_GlobalInvocationID.x, network = gl_WorkGroupID.z;
    if (j >= KERNEL * KERNEL * OUTPUTS * INPUTS) return;
    uint row = j / COLUMNS, column = j % COLUMNS, place = row / OUTPUTS, o = row % OUTPUTS;
    uint y = place / (SIDE * SIDE) + (SIDE - 1u - place / SIDE % SIDE) * STRIDE;
    uint x = column / INPUTS + (SIDE - 1u - place % SIDE) * STRIDE;
    uint from = weight_at + network * weight_pitch + ((y * KERNEL + x) * INPUTS + column % INPUTS) * OUTPUTS + o;
    turned[network * turned_pitch + row * pitch + column] = LOAD(params, params_texels, from);
}
