// Rows of A that are patches of images (HAS_IMAGES): row (r, y, x) holds the KERNEL × KERNEL × CHANNELS floats of image r under the window at
// place (y, x), in the order row, column, channel, as patches.comp writes them. A product that reads them in the images saves writing and
// reading them. Where an element lies is the sum of a part by its row and one by its column.

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
    return PatchPlace(a_begin + row / PLACES * a_row + (y - TOP) * PATCH_LINE + x - LEFT * CHANNELS, y, x);
}

// Goes on by count rows, to `row`; step: floats from image to image.
void patch_next(inout PatchPlace p, uint count, uint row, uint step) {
    if (OUT_WIDTH < TOGETHER) {
        p = patch_place(row);
        return;
    }
    uint along = count * PATCH_STEP;
    p.begin += along;
    p.x += along;
    bool line = p.x >= OUT_WIDTH * PATCH_STEP;
    p.begin += line ? STRIDE * PATCH_LINE - OUT_WIDTH * PATCH_STEP : 0u;
    p.x -= line ? OUT_WIDTH * PATCH_STEP : 0u;
    p.y += line ? STRIDE : 0u;
    bool image = p.y == OUT_HEIGHT * STRIDE;
    p.begin += image ? step - OUT_HEIGHT * STRIDE * PATCH_LINE : 0u;
    p.y = image ? 0u : p.y;
}

// Float e + i of a patch, or its last; where they are whole, the first float of its four.
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
    uint at = inside ? p.begin + f.offset : a_begin;
    float x = PANEL_FLOAT(images, images_texels, at);
    return inside ? x : 0.0;
}

// Four floats that follow each other; zero outside the image.
vec4 patch_four(PatchPlace p, PatchPart f0, PatchPart f1, PatchPart f2, PatchPart f3) {
    if (!patch_whole()) return vec4(patch_float(p, f0), patch_float(p, f1), patch_float(p, f2), patch_float(p, f3));
    bool inside = patch_inside(p, f0);
    uint at = inside ? p.begin + f0.offset : a_begin;
    vec4 v = LOAD4(a, a_texels, at >> 2);
    return inside ? v : vec4(0.0);
}
