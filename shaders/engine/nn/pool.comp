#version 450

// Pooling: the largest value, or the mean, of every channel under the window at each of its places. Only floats inside the image count.
//
// Groups: x = ceil(PLACES * CHANNELS / local size), y = at most rows, z = N.

#include "engine/load.glsl"
#include "engine/nn/window.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 10) const bool LARGEST = false; // or the mean

layout(std430, set = 0, binding = 0) readonly buffer Images { float images[]; };  // [networks / shared, rows, HEIGHT, WIDTH, CHANNELS]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer images_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Values { float values[]; }; // [networks, rows, PLACES, CHANNELS]

layout(push_constant) uniform Push {
    uint rows;         // images of a network
    uint image_at;     // the first image
    uint image_stride; // floats from a network's images to the next ones
    uint image_row;    // floats from image to image
    uint shared_by;    // number of consecutive networks that share images
    uint value_stride; // floats from a network's values to the next ones
    uint value_row;    // floats from an image's values to the next ones
};

void main() {
    uint j = gl_GlobalInvocationID.x, network = gl_WorkGroupID.z;
    if (j >= PLACES * CHANNELS) return;
    uint channel = j % CHANNELS, place = j / CHANNELS;
    int top = int(place / OUT_WIDTH * STRIDE) - int(TOP), left = int(place % OUT_WIDTH * STRIDE) - int(LEFT);
    uint y0 = uint(max(top, 0)), y1 = uint(min(top + int(KERNEL), int(HEIGHT)));
    uint x0 = uint(max(left, 0)), x1 = uint(min(left + int(KERNEL), int(WIDTH)));
    uint first = image_at + network / shared_by * image_stride + channel;
    for (uint r = gl_WorkGroupID.y; r < rows; r += gl_NumWorkGroups.y) {
        uint from = first + r * image_row;
        float value = LARGEST ? LOAD(images, images_texels, from + (y0 * WIDTH + x0) * CHANNELS) : 0.0;
        for (uint y = y0; y < y1; y++) {
            for (uint x = x0; x < x1; x++) {
                float v = LOAD(images, images_texels, from + (y * WIDTH + x) * CHANNELS);
                value = LARGEST ? (v > value ? v : value) : value + v;
            }
        }
        values[network * value_stride + r * value_row + j] = LARGEST ? value : value / float((y1 - y0) * (x1 - x0));
    }
}
