// Patches of images as rows of A, for products by panels (gemm_panel.comp, gemm_panel_low_rank.comp): gemm_patches.glsl, and going from row to row.

#define PATCH_BEGIN a_begin
#define PATCH_FLOAT(e) PANEL_FLOAT(images, images_texels, e)
#include "engine/nn/gemm_patches.glsl"

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
