// Rows of A that are patches of images: row (r, y, x) holds the KERNEL × KERNEL × CHANNELS floats of image r under the window at
// place (y, x), in the order row, column, channel, as patches.comp writes them. A product that reads them in the images saves writing and
// reading them. Where an element lies is the sum of a part by its row and one by its column.
//
// The kernel defines PATCH_FLOAT(e), float e of A, and PATCH_BEGIN, where the member's images begin.

#define WINDOW_ID 20
#include "engine/nn/window.glsl"

const uint PATCH_LINE = WIDTH * CHANNELS;     // floats of a row of an image
const uint PATCH_SEGMENT = KERNEL * CHANNELS; // floats of a patch in a row of an image: they follow each other
const uint PATCH_STEP = STRIDE * CHANNELS;    // floats from place to place

// Whether four floats lie in one pixel.
bool patch_whole() { return (ALIGNED_A ? CHANNELS % 4u : 1u) == 0u; }

// Whether windows reach beyond the image.
bool patch_borders() {
    int y = int((OUT_HEIGHT - 1u) * STRIDE + KERNEL) - int(HEIGHT), x = int((OUT_WIDTH - 1u) * STRIDE + KERNEL) - int(WIDTH);
    return max(y, x) > 0;
}

// The upper left corner of the window at a place: its float of A, its row, and its float of a row, both in the image with its border.
struct PatchPlace {
    uint begin, y, x;
};

// A float of a patch: what it adds to the corner's.
struct PatchPart {
    uint offset, y, x;
};

PatchPlace patch_place(uint row) {
    uint place = row % PLACES, y = place / OUT_WIDTH * STRIDE, x = place % OUT_WIDTH * PATCH_STEP;
    return PatchPlace(PATCH_BEGIN + row / PLACES * a_row + (y - TOP) * PATCH_LINE + x - LEFT * CHANNELS, y, x);
}

// Float e + i of a patch, or its last float beyond that; with patch_whole the first of the four floats that hold it.
PatchPart patch_part(uint e, uint i) {
    uint f = min(e + i, PATCH - 1u);
    if (patch_whole()) f &= ~3u;
    uint y = f / PATCH_SEGMENT, x = f % PATCH_SEGMENT;
    return PatchPart(y * PATCH_LINE + x, y, x);
}

bool patch_inside(PatchPlace p, PatchPart f) {
    return !patch_borders() || p.y + f.y - TOP < HEIGHT && p.x + f.x - LEFT * CHANNELS < PATCH_LINE;
}

float patch_float(PatchPlace p, PatchPart f) {
    bool inside = patch_inside(p, f);
    uint at = inside ? p.begin + f.offset : PATCH_BEGIN;
    float x = PATCH_FLOAT(at);
    return inside ? x : 0.0;
}

// Four floats that follow each other; zero outside the image.
vec4 patch_four(PatchPlace p, PatchPart f0, PatchPart f1, PatchPart f2, PatchPart f3) {
    if (!patch_whole()) return vec4(patch_float(p, f0), patch_float(p, f1), patch_float(p, f2), patch_float(p, f3));
    bool inside = patch_inside(p, f0);
    uint at = inside ? p.begin + f0.offset : PATCH_BEGIN;
    vec4 v = LOAD4(a, a_texels, at >> 2);
    return inside ? v : vec4(0.0);
}
