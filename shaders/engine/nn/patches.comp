#version 450

// Gathers the patches of images that a convolution multiplies by its weights (im2col). Row (r, y, x) of the patches holds the KERNEL ×
// KERNEL × CHANNELS floats of image r under the window at place (y, x), in the order of the weights: row, column, channel. Floats
// outside the image are zero.
//
// Groups: x = ceil(PLACES * PATCH / local size), y = at most rows, z = sets of images.

#include "engine/load.glsl"
#include "engine/nn/window.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Images { float images[]; };     // [sets, rows, HEIGHT, WIDTH, CHANNELS]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer images_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Patches { float patches[]; }; // [sets, capacity, PLACES, pitch]

layout(push_constant) uniform Push {
    uint rows;          // images of a set
    uint image_at;      // the first image
    uint image_stride;  // floats from a set of images to the next
    uint image_row;     // floats from image to image
    uint patch_stride;  // floats from a set's patches to the next ones
    uint pitch;         // floats from patch to patch
};

void main() {
    uint j = gl_GlobalInvocationID.x, set = gl_WorkGroupID.z;
    if (j >= PLACES * PATCH) return;
    // The floats of a window in one row of the image follow each other in memory.
    uint place = j / PATCH, e = j % PATCH, ky = e / (KERNEL * CHANNELS), along = e % (KERNEL * CHANNELS);
    int y = int(place / OUT_WIDTH * STRIDE + ky) - int(TOP);
    int column = int(place % OUT_WIDTH * STRIDE * CHANNELS + along) - int(LEFT * CHANNELS);
    bool inside = y >= 0 && y < int(HEIGHT) && column >= 0 && column < int(WIDTH * CHANNELS);
    uint from = image_at + set * image_stride + (inside ? uint(y) * (WIDTH * CHANNELS) + uint(column) : 0u);
    uint to = set * patch_stride + place * pitch + e;
    for (uint r = gl_WorkGroupID.y; r < rows; r += gl_NumWorkGroups.y) {
        float x = LOAD(images, images_texels, from + r * image_row);
        patches[to + r * PLACES * pitch] = inside ? x : 0.0;
    }
}
