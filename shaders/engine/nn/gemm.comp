#version 450

// Products of matrices, one a member: C = activate(alpha A B + addend + bias), or C = alpha A B * (derivative of an
// activation), with A or B or both transposed as they are stored. A is M × K, B is K × N, C is M × N, all row-major,
// each member's at an offset of its own; consecutive members may share an A or a B.
//
// The sum over K may be split over workgroups: split s goes to a C of its own, for the reader to add in order. Three
// forms: lanes (gemm_lanes.glsl), for small products on software drivers; tiles (gemm_tiles.glsl), for GPUs; vector
// (gemm_vector.glsl), for a single row. Tiles may have the patches of images as A. gemm_panel.comp is the form for large products on software drivers.
//
// Groups: x = ceil(N / columns of a workgroup), y = ceil(M / rows of a workgroup), z = splits * population.

#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 8;  // invocations; lanes: the subgroup size
layout(constant_id = 1) const uint FORM = 0;       // one of the following
const uint FORM_LANES = 0u;
const uint FORM_TILES = 1u;
const uint FORM_VECTOR = 2u;
layout(constant_id = 2) const uint ROWS = 2;       // lanes: 1/WORKGROUP of the workgroup's rows; tiles: rows an invocation, a multiple of 4
layout(constant_id = 3) const uint COLUMNS = 4;    // the same of columns; lanes: 1 or a multiple of 4; tiles: a multiple of 4
layout(constant_id = 4) const uint TILE_WIDTH = 16; // tiles: invocations along N
layout(constant_id = 15) const uint SLICES = 1;     // vector: invocations that share a sum over K
layout(constant_id = 17) const bool PATCHES = false; // tiles: A's rows as they are not transposed are patches of images

#include "engine/nn/gemm_operands.glsl"
#define PATCH_BEGIN gemm_a_begin
#define PATCH_FLOAT(e) LOAD1(a, a_texels, e)
#include "engine/nn/gemm_patches.glsl"
#include "engine/nn/gemm_lanes.glsl"
#include "engine/nn/gemm_tiles.glsl"
#include "engine/nn/gemm_vector.glsl"

void main() {
    gemm_begins();
    if (FORM == FORM_TILES) {
        gemm_tiles();
    } else if (FORM == FORM_VECTOR) {
        gemm_vector();
    } else {
        gemm_lanes();
    }
}
