// As patches.comp, four floats an invocation: rows of images and patches begin at multiples of four floats. With channels in multiples of
// four they lie in one pixel.
//
// Groups: x = ceil(PLACES * ceil(PATCH / 4) / local size), y = at most rows, z = sets of images.

#include "engine/load.glsl"
#include "engine/store.glsl"
#include "engine/nn/window.glsl"

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Images { vec4 images[]; };    // as patches.comp's
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer images_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Patches { Quad patches[]; };

layout(push_constant) uniform Push {
    uint rows;
    uint image_at;
    uint image_stride;
    uint image_row;
    uint patch_stride;
    uint pitch;
};

const uint QUADS = (PATCH + 3u) / 4u; // of a patch; the last may end with zeros

// Where float e of the patch at `place` lies in its image; -1: outside.
int source(uint place, uint e) {
    uint ky = e / (KERNEL * CHANNELS), along = e % (KERNEL * CHANNELS);
    int y = int(place / OUT_WIDTH * STRIDE + ky) - int(TOP);
    int column = int(place % OUT_WIDTH * STRIDE * CHANNELS + along) - int(LEFT * CHANNELS);
    bool inside = e < PATCH && y >= 0 && y < int(HEIGHT) && column >= 0 && column < int(WIDTH * CHANNELS);
    return inside ? y * int(WIDTH * CHANNELS) + column : -1;
}

void main() {
    uint j = gl_GlobalInvocationID.x, set = gl_WorkGroupID.z;
    if (j >= PLACES * QUADS) return;
    uint place = j / QUADS, e = j % QUADS * 4u;
    uint from = image_at + set * image_stride, to = (set * patch_stride + place * pitch + e) / 4u;
    int at[4];
    [[unroll]] for (uint i = 0u; i < 4u; i++) at[i] = source(place, e + i);
    for (uint r = gl_WorkGroupID.y; r < rows; r += gl_NumWorkGroups.y) {
        uint image = from + r * image_row;
        vec4 v = vec4(0.0);
        if (CHANNELS % 4u == 0u) {
            vec4 whole = LOAD4(images, images_texels, (image + uint(max(at[0], 0))) / 4u);
            v = at[0] >= 0 ? whole : v;
        } else {
            [[unroll]] for (uint i = 0u; i < 4u; i++) {
                float x = LOAD1(images, images_texels, image + uint(max(at[i], 0)));
                v[i] = at[i] >= 0 ? x : 0.0;
            }
        }
        patches[to + r * (PLACES * pitch / 4u)] = quad(v);
    }
}
