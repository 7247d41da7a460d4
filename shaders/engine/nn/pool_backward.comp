#version 450

// The gradient at images, from that at the values of pool.comp. Every float of an image sums over the windows that hold it, in a fixed order.
// That of a largest value goes to the first of equal ones, row by row.
//
// Groups: x = ceil(HEIGHT * WIDTH * CHANNELS / local size), y = at most rows, z = N.

#include "engine/load.glsl"
#include "engine/nn/activation.glsl"
#include "engine/nn/window.glsl"
#include "engine/nn/slope.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 10) const bool HAS_IMAGES = false; // values are the largest; else means

layout(std430, set = 0, binding = 0) readonly buffer AtValues { float at_values[]; }; // [networks, rows, PLACES, CHANNELS]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer at_values_texels;
layout(std430, set = 0, binding = 2) readonly buffer Images { float images[]; };      // [networks / shared, rows, HEIGHT, WIDTH, CHANNELS]
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer images_texels;
layout(std430, set = 0, binding = 4) writeonly buffer AtImages { float at_images[]; }; // [networks, rows, HEIGHT, WIDTH, CHANNELS]

layout(push_constant) uniform Push {
    uint rows;         // images of a network
    uint image_at;     // the first image
    uint image_stride; // floats from a network's images to the next ones
    uint image_row;    // floats from image to image
    uint shared_by;    // number of consecutive networks that share images
    uint value_stride; // likewise of the gradient at values
    uint value_row;
    uint to_stride;    // likewise of that at images
    uint to_row;
};

// The pixels of a window inside the image, along one axis.
uvec2 inside(uint place, uint before, uint size) {
    int first = int(place * STRIDE) - int(before);
    return uvec2(max(first, 0), min(first + int(KERNEL), int(size)));
}

// Whether pixel (y, x) of the channel is the first of the largest of a window.
bool is_largest(uint from, uvec2 rows_of, uvec2 columns_of, uint y, uint x) {
    float own = LOAD(images, images_texels, from + (y * WIDTH + x) * CHANNELS);
    bool largest = true;
    for (uint v = rows_of.x; v < rows_of.y; v++) {
        for (uint u = columns_of.x; u < columns_of.y; u++) {
            float other = LOAD(images, images_texels, from + (v * WIDTH + u) * CHANNELS);
            bool before = v < y || v == y && u < x;
            if (other > own || before && other == own) largest = false;
        }
    }
    return largest;
}

void main() {
    uint j = gl_GlobalInvocationID.x, network = gl_WorkGroupID.z;
    if (j >= HEIGHT * WIDTH * CHANNELS) return;
    uint channel = j % CHANNELS, x = j / CHANNELS % WIDTH, y = j / (CHANNELS * WIDTH);
    uint y0 = first_place(y + TOP), y1 = end_place(y + TOP, OUT_HEIGHT), x0 = first_place(x + LEFT), x1 = end_place(x + LEFT, OUT_WIDTH);
    for (uint r = gl_WorkGroupID.y; r < rows; r += gl_NumWorkGroups.y) {
        uint from = network * value_stride + r * value_row + channel;
        uint image = image_at + network / shared_by * image_stride + r * image_row + channel;
        float sum = 0.0;
        for (uint v = y0; v < y1; v++) {
            uvec2 rows_of = inside(v, TOP, HEIGHT);
            for (uint u = x0; u < x1; u++) {
                uvec2 columns_of = inside(u, LEFT, WIDTH);
                float d = LOAD(at_values, at_values_texels, from + (v * OUT_WIDTH + u) * CHANNELS);
                if (!HAS_IMAGES) {
                    sum += d / float((rows_of.y - rows_of.x) * (columns_of.y - columns_of.x));
                } else if (is_largest(image, rows_of, columns_of, y, x)) {
                    sum += d;
                }
            }
        }
        uint at = network * to_stride + r * to_row + j;
        at_images[at] = with_slope(sum, at);
    }
}
