// As pool.comp, four channels an invocation: channels are a multiple of four, and images and values begin at multiples of four floats.
//
// Groups: x = ceil(PLACES * CHANNELS / (4 * local size)), y = at most rows, z = N.

#include "engine/load.glsl"
#include "engine/store.glsl"
#include "engine/nn/window.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 10) const bool LARGEST = false; // or the mean

layout(std430, set = 0, binding = 0) readonly buffer Images { vec4 images[]; };   // as pool.comp's
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer images_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Values { Quad values[]; };

layout(push_constant) uniform Push {
    uint rows;
    uint image_at;
    uint image_stride;
    uint image_row;
    uint shared_by;
    uint value_stride;
    uint value_row;
};

void main() {
    uint j = gl_GlobalInvocationID.x, network = gl_WorkGroupID.z;
    if (j >= PLACES * (CHANNELS / 4u)) return;
    uint channel = j % (CHANNELS / 4u) * 4u, place = j / (CHANNELS / 4u);
    int top = int(place / OUT_WIDTH * STRIDE) - int(TOP), left = int(place % OUT_WIDTH * STRIDE) - int(LEFT);
    uint y0 = uint(max(top, 0)), y1 = uint(min(top + int(KERNEL), int(HEIGHT)));
    uint x0 = uint(max(left, 0)), x1 = uint(min(left + int(KERNEL), int(WIDTH)));
    uint first = image_at + network / shared_by * image_stride + channel;
    for (uint r = gl_WorkGroupID.y; r < rows; r += gl_NumWorkGroups.y) {
        uint from = first + r * image_row;
        vec4 value = LARGEST ? LOAD4(images, images_texels, (from + (y0 * WIDTH + x0) * CHANNELS) >> 2) : vec4(0.0);
        for (uint y = y0; y < y1; y++) {
            for (uint x = x0; x < x1; x++) {
                vec4 v = LOAD4(images, images_texels, (from + (y * WIDTH + x) * CHANNELS) >> 2);
                value = LARGEST ? mix(value, v, greaterThan(v, value)) : value + v;
            }
        }
        values[(network * value_stride + r * value_row) / 4u + j] = quad(LARGEST ? value : value / float((y1 - y0) * (x1 - x0)));
    }
}
