#version 450

// The gradient at images, from that at the patches which patches.comp gathered from them (col2im). Every float of an image sums over the
// patches that hold it, in a fixed order. If the images are a layer's activations, the sum is multiplied by the activation's slope.
//
// Groups: x = ceil(HEIGHT * WIDTH * CHANNELS / local size), y = at most rows, z = networks.

#include "engine/load.glsl"
#include "engine/nn/activation.glsl"
#include "engine/nn/window.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 10) const uint SLOPE = 0; // activation of the layer below
layout(constant_id = 11) const bool HAS_OUTPUTS = false;
layout(constant_id = 12) const bool HAS_INPUTS = false;

layout(std430, set = 0, binding = 0) readonly buffer Patches { float patches[]; };  // [networks, capacity, PLACES, pitch]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer patches_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Images { float images[]; };   // [networks, image capacity, HEIGHT, WIDTH, CHANNELS]
layout(std430, set = 0, binding = 3) readonly buffer Outputs { float outputs[]; };  // as Images: the activation's outputs
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 5) readonly buffer Inputs { float inputs[]; };    // as Images: its inputs
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer inputs_texels;

layout(push_constant) uniform Push {
    uint rows;          // images of a network
    uint image_stride;  // floats from a network's images to the next ones
    uint image_row;     // floats from image to image
    uint patch_stride;  // floats from a network's patches to the next ones
    uint pitch;         // floats from patch to patch
};

void main() {
    uint j = gl_GlobalInvocationID.x, network = gl_WorkGroupID.z;
    if (j >= HEIGHT * WIDTH * CHANNELS) return;
    uint channel = j % CHANNELS, x = j / CHANNELS % WIDTH + LEFT, y = j / (CHANNELS * WIDTH) + TOP;
    uint y0 = first_place(y), y1 = end_place(y, OUT_HEIGHT), x0 = first_place(x), x1 = end_place(x, OUT_WIDTH);
    for (uint r = gl_WorkGroupID.y; r < rows; r += gl_NumWorkGroups.y) {
        uint from = network * patch_stride + r * PLACES * pitch + channel, at = network * image_stride + r * image_row + j;
        float sum = 0.0;
        for (uint v = y0; v < y1; v++) {
            for (uint u = x0; u < x1; u++) {
                uint e = from + (v * OUT_WIDTH + u) * pitch + ((y - v * STRIDE) * KERNEL + x - u * STRIDE) * CHANNELS;
                sum += LOAD(patches, patches_texels, e);
            }
        }
        if (HAS_OUTPUTS) {
            float z = HAS_INPUTS ? LOAD(inputs, inputs_texels, at) : LOAD(outputs, outputs_texels, at);
            sum *= activate_slope(SLOPE, z, LOAD(outputs, outputs_texels, at));
        }
        images[at] = sum;
    }
}
