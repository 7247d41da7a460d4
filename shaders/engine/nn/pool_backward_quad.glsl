// As pool_backward.comp, four channels an invocation: channels are a multiple of four, and images, values and their gradients begin at multiples of four
// floats.
//
// Groups: x = ceil(HEIGHT * WIDTH * CHANNELS / (4 * local size)), y = at most rows, z = N.

#include "engine/load.glsl"
#include "engine/store.glsl"
#include "engine/nn/activation.glsl"
#include "engine/nn/window.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 10) const bool HAS_IMAGES = false; // values are the largest; else means
layout(constant_id = 20) const uint SLOPE = 0;          // these as slope.glsl's
layout(constant_id = 21) const bool HAS_ADDEND = false;
layout(constant_id = 22) const bool HAS_OUTPUTS = false;
layout(constant_id = 23) const bool HAS_INPUTS = false;

layout(std430, set = 0, binding = 0) readonly buffer AtValues { vec4 at_values[]; }; // these as pool_backward.comp's
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer at_values_texels;
layout(std430, set = 0, binding = 2) readonly buffer Images { vec4 images[]; };
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer images_texels;
layout(std430, set = 0, binding = 4) writeonly buffer AtImages { Quad at_images[]; };
layout(std430, set = 0, binding = 10) readonly buffer Addend { vec4 addend[]; };
layout(set = 0, binding = 11, rgba32f) readonly uniform imageBuffer addend_texels;
layout(std430, set = 0, binding = 12) readonly buffer Outputs { vec4 outputs[]; };
layout(set = 0, binding = 13, rgba32f) readonly uniform imageBuffer outputs_texels;
layout(std430, set = 0, binding = 14) readonly buffer Inputs { vec4 inputs[]; };
layout(set = 0, binding = 15, rgba32f) readonly uniform imageBuffer inputs_texels;

layout(push_constant) uniform Push {
    uint rows;
    uint image_at;
    uint image_stride;
    uint image_row;
    uint shared_by;
    uint value_stride;
    uint value_row;
    uint to_stride;
    uint to_row;
};

// The pixels of a window inside the image, along one axis.
uvec2 inside(uint place, uint before, uint size) {
    int first = int(place * STRIDE) - int(before);
    return uvec2(max(first, 0), min(first + int(KERNEL), int(size)));
}

// Whether pixel (y, x), which has the floats `own`, is the first of the largest of a window: 1 for each channel that has it so, else 0.
vec4 largest(uint from, vec4 own, uvec2 rows_of, uvec2 columns_of, uint y, uint x) {
    vec4 is = vec4(1.0);
    for (uint v = rows_of.x; v < rows_of.y; v++) {
        for (uint u = columns_of.x; u < columns_of.y; u++) {
            vec4 other = LOAD4(images, images_texels, (from + (v * WIDTH + u) * CHANNELS) >> 2);
            bool before = v < y || v == y && u < x;
            is = mix(is, vec4(0.0), greaterThan(other, own));
            if (before) is = mix(is, vec4(0.0), equal(other, own));
        }
    }
    return is;
}

void main() {
    uint j = 4u * gl_GlobalInvocationID.x, network = gl_WorkGroupID.z;
    if (j >= HEIGHT * WIDTH * CHANNELS) return;
    uint channel = j % CHANNELS, x = j / CHANNELS % WIDTH, y = j / (CHANNELS * WIDTH);
    uint y0 = first_place(y + TOP), y1 = end_place(y + TOP, OUT_HEIGHT), x0 = first_place(x + LEFT), x1 = end_place(x + LEFT, OUT_WIDTH);
    for (uint r = gl_WorkGroupID.y; r < rows; r += gl_NumWorkGroups.y) {
        uint from = network * value_stride + r * value_row + channel;
        uint image = image_at + network / shared_by * image_stride + r * image_row + channel;
        vec4 own = HAS_IMAGES ? LOAD4(images, images_texels, (image + (y * WIDTH + x) * CHANNELS) >> 2) : vec4(0.0), sum = vec4(0.0);
        for (uint v = y0; v < y1; v++) {
            uvec2 rows_of = inside(v, TOP, HEIGHT);
            for (uint u = x0; u < x1; u++) {
                uvec2 columns_of = inside(u, LEFT, WIDTH);
                vec4 d = LOAD4(at_values, at_values_texels, (from + (v * OUT_WIDTH + u) * CHANNELS) >> 2);
                if (!HAS_IMAGES) {
                    sum += d / float((rows_of.y - rows_of.x) * (columns_of.y - columns_of.x));
                } else {
                    vec4 is = largest(image, own, rows_of, columns_of, y, x);
                    sum += mix(vec4(0.0), d, notEqual(is, vec4(0.0))); // not d times 0, which may be NaN
                }
            }
        }
        uint at = (network * to_stride + r * to_row + j) >> 2;
        if (HAS_ADDEND) sum += LOAD4(addend, addend_texels, at);
        if (HAS_OUTPUTS) {
            vec4 h = LOAD4(outputs, outputs_texels, at), z = h;
            if (HAS_INPUTS) z = LOAD4(inputs, inputs_texels, at);
            [[unroll]] for (uint i = 0u; i < 4u; i++) sum[i] *= activate_slope(SLOPE, z[i], h[i]);
        }
        at_images[at] = quad(sum);
    }
}
