// As patches_backward.comp, four channels an invocation: channels, rows of images and of patches in multiples of four floats.
//
// Groups: x = ceil(HEIGHT * WIDTH * CHANNELS / 4 / local size), y = at most rows, z = networks.

#include "engine/load.glsl"
#include "engine/store.glsl"
#include "engine/nn/activation.glsl"
#include "engine/nn/window.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 10) const uint SLOPE = 0; // activation of the layer below
layout(constant_id = 11) const bool HAS_OUTPUTS = false;
layout(constant_id = 12) const bool HAS_INPUTS = false;

layout(std430, set = 0, binding = 0) readonly buffer Patches { vec4 patches[]; };   // these as patches_backward.comp's
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer patches_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Images { Quad images[]; };
layout(std430, set = 0, binding = 3) readonly buffer Outputs { vec4 outputs[]; };
layout(set = 0, binding = 4, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 5) readonly buffer Inputs { vec4 inputs[]; };
layout(set = 0, binding = 6, rgba32f) readonly uniform imageBuffer inputs_texels;

layout(push_constant) uniform Push {
    uint rows;
    uint image_stride;
    uint image_row;
    uint patch_stride;
    uint pitch;
};

void main() {
    uint j = 4u * gl_GlobalInvocationID.x, network = gl_WorkGroupID.z;
    if (j >= HEIGHT * WIDTH * CHANNELS) return;
    uint channel = j % CHANNELS, x = j / CHANNELS % WIDTH + LEFT, y = j / (CHANNELS * WIDTH) + TOP;
    uint y0 = first_place(y), y1 = end_place(y, OUT_HEIGHT), x0 = first_place(x), x1 = end_place(x, OUT_WIDTH);
    for (uint r = gl_WorkGroupID.y; r < rows; r += gl_NumWorkGroups.y) {
        uint from = network * patch_stride + r * PLACES * pitch + channel, at = (network * image_stride + r * image_row + j) / 4u;
        vec4 sum = vec4(0.0);
        for (uint v = y0; v < y1; v++) {
            for (uint u = x0; u < x1; u++) {
                uint e = from + (v * OUT_WIDTH + u) * pitch + ((y - v * STRIDE) * KERNEL + x - u * STRIDE) * CHANNELS;
                sum += LOAD4(patches, patches_texels, e / 4u);
            }
        }
        if (HAS_OUTPUTS) {
            vec4 h = LOAD4(outputs, outputs_texels, at), z = h;
            if (HAS_INPUTS) z = LOAD4(inputs, inputs_texels, at);
            [[unroll]] for (uint i = 0u; i < 4u; i++) sum[i] *= activate_slope(SLOPE, z[i], h[i]);
        }
        images[at] = quad(sum);
    }
}
