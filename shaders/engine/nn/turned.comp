#version 450

// The weights of convolutions, turned by half a circle with inputs and outputs exchanged: the gradient at a convolution's images is the convolution of the
// gradient at its values with them, where it moves by one pixel. Row (y, x, output) of the turned weights has the float of each input.
//
// Groups: x = ceil(KERNEL^2 * OUTPUTS * INPUTS / local size), z = networks.

#include "engine/load.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 1) const uint KERNEL = 1;  // rows and columns of the window
layout(constant_id = 2) const uint INPUTS = 1;  // channels of the images
layout(constant_id = 3) const uint OUTPUTS = 1; // of the values

layout(std430, set = 0, binding = 0) readonly buffer Params { float params[]; };  // of each network, among others, [KERNEL, KERNEL, INPUTS, OUTPUTS]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Turned { float turned[]; }; // [networks, KERNEL, KERNEL, OUTPUTS, INPUTS], rows padded to `pitch`

layout(push_constant) uniform Push {
    uint weight_at;     // the first network's weights
    uint weight_stride; // floats from network to network
    uint stride;        // likewise of turned weights
    uint pitch;         // floats from row to row of turned weights
};

void main() {
    uint j = gl_GlobalInvocationID.x, network = gl_WorkGroupID.z;
    if (j >= KERNEL * KERNEL * OUTPUTS * INPUTS) return;
    uint row = j / INPUTS, c = j % INPUTS, place = KERNEL * KERNEL - 1u - row / OUTPUTS, o = row % OUTPUTS;
    turned[network * stride + row * pitch + c] = LOAD(params, params_texels, weight_at + network * weight_stride + (place * INPUTS + c) * OUTPUTS + o);
}
