#version 450

// A convolution that moves by one pixel, its activation, and the pool after it, of the largest of 2 × 2 values, on software drivers. What lies between
// the two is never in memory.
//
// A lane computes one place of the pool for eight or sixteen channels: four windows of the convolution, which share most of their pixels. It goes over the
// image in steps, of a pixel or of a line, and keeps the pixels that the next step reads again. The weights of a step are spread over the subgroup's
// lanes, and constant shuffles broadcast them: one weight, four products. An activation that never falls is applied once, to the largest sum. Lanes
// exchange what they have computed, and store one behind the other.
//
// Groups: x = at most ceil(rows * POOL_PLACES / LANES), y = ceil(N / COLUMNS), z = networks.

#extension GL_EXT_control_flow_attributes : require
#extension GL_ARB_gpu_shader_int64 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#define QUADS_64
#define HALVES
#include "engine/halved.glsl"
#include "engine/load.glsl"
#include "engine/store.glsl"
#include "engine/nn/activation.glsl"

layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 8;         // the subgroup size, a multiple of two
layout(constant_id = 10) const uint ACTIVATION = 0;   // never falls: linear, relu, tanh, elu
layout(constant_id = 11) const uint POOL_WIDTH = 1;   // places of the pool
layout(constant_id = 12) const uint POOL_HEIGHT = 1;
layout(constant_id = 13) const bool QUADS = false;    // channels of images are a multiple of four, and images begin at multiples of four floats
layout(constant_id = 14) const bool ODD = false;      // lines under a window may begin at an odd float
layout(constant_id = 15) const uint COLUMNS = 8;      // channels that a lane computes: 8 or 16

#define WINDOW_ID 1
#include "engine/nn/window.glsl"

const uint POOL_PLACES = POOL_WIDTH * POOL_HEIGHT;
const uint ACROSS = COLUMNS / 4u;       // lanes that load a row of weights
const uint TAPS = LANES / ACROSS;       // rows of weights that the subgroup loads at once
const uint SEGMENT = KERNEL * CHANNELS; // floats of a window in a line

// A step multiplies one pixel's channels, a line's floats or, of small windows, all: its code fits the processor's cache of decoded instructions.
const bool WHOLE = !QUADS && PATCH <= 32u;
const uint STEP = QUADS ? CHANNELS : WHOLE ? PATCH : SEGMENT;
const uint STEP_QUADS = (STEP - 1u) / TAPS + 1u;
const uint LINE = QUADS ? 2u * CHANNELS : (KERNEL + 1u) * CHANNELS;

layout(std430, set = 0, binding = 0) readonly buffer Images { vec4 images[]; };  // [networks / shared, rows, HEIGHT, WIDTH, CHANNELS]
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer images_texels;
layout(std430, set = 0, binding = 2) readonly buffer Params { vec4 params[]; };  // weights [PATCH, n] and bias [n] of every network
layout(set = 0, binding = 3, rgba32f) readonly uniform imageBuffer params_texels;
layout(std430, set = 0, binding = 4) writeonly buffer Values { Quad values[]; }; // [networks, rows, POOL_PLACES, n]

layout(push_constant) uniform Push {
    uint rows;          // images of a network
    uint n;             // channels of the convolution, a multiple of four
    uint image_at;      // the first image
    uint image_stride;  // floats from a network's images to the next ones
    uint image_row;     // floats from image to image
    uint shared_by;     // number of consecutive networks that share images
    uint weight_at;     // the first network's weights, a multiple of four
    uint bias_at;       // likewise its bias
    uint weight_stride; // floats from network to network, a multiple of four
    uint value_stride;  // floats from a network's values to the next ones
    uint value_row;     // floats from an image's values to the next ones
};

float sums[4u * COLUMNS];       // [window, column]
vec4 weights[STEP_QUADS];       // of a step, COLUMNS of TAPS rows in each
float upper[LINE], lower[LINE]; // two lines under the windows, or their pixels in a step
uint corner_y, corner_x;        // of the upper left window, in the image with its border
uint image;                     // where the lane's image begins

// Loads the weights of a step, from row `first` on, whose columns begin at float `at`.
void load_weights(uint at, uint first, uint columns) {
    uint tap = gl_SubgroupInvocationID / ACROSS;
    [[unroll]] for (uint q = 0u; q < STEP_QUADS; q++) {
        weights[q] = LOAD4(params, params_texels, (at + min(first + q * TAPS + tap, PATCH - 1u) * columns) >> 2);
    }
}

// Adds the products of row u of the step's weights, column j, with the floats under the windows: float `at` of two lines and, in the windows at the right,
// the one a pixel behind it.
void multiply(uint u, uint j, uint at) {
    float w = subgroupShuffle(weights[u / TAPS][j & 3u], u % TAPS * ACROSS + j / 4u);
    sums[j] = fma(upper[at], w, sums[j]);
    sums[COLUMNS + j] = fma(upper[CHANNELS + at], w, sums[COLUMNS + j]);
    sums[2u * COLUMNS + j] = fma(lower[at], w, sums[2u * COLUMNS + j]);
    sums[3u * COLUMNS + j] = fma(lower[CHANNELS + at], w, sums[3u * COLUMNS + j]);
}

// Loads pixel x of lines y and y + 1 of the windows to upper and lower, from float `to` on. QUADS.
void load_pixel(uint y, uint x, uint to) {
    uint ay = corner_y + y - TOP, ax = corner_x + x - LEFT;
    bool inside0 = ay < HEIGHT && ax < WIDTH, inside1 = ay + 1u < HEIGHT && ax < WIDTH;
    uint at = (ay * WIDTH + ax) * CHANNELS, at0 = image + (inside0 ? at : 0u), at1 = image + (inside1 ? at + WIDTH * CHANNELS : 0u);
    [[unroll]] for (uint q = 0u; q < CHANNELS; q += 4u) {
        vec4 v0 = LOAD4(images, images_texels, (at0 + q) >> 2), v1 = LOAD4(images, images_texels, (at1 + q) >> 2);
        [[unroll]] for (uint i = 0u; i < 4u; i++) {
            upper[min(to + q + i, LINE - 1u)] = inside0 ? v0[i] : 0.0;
            lower[min(to + q + i, LINE - 1u)] = inside1 ? v1[i] : 0.0;
        }
    }
}

// Pixel by pixel: those of a column are under the right windows, and then under the left ones.
void add_pixels(uint at, uint columns) {
    [[dont_unroll]] for (uint y = 0u; y < KERNEL; y++) {
        load_pixel(y, 0u, CHANNELS);
        [[dont_unroll]] for (uint x = 0u; x < KERNEL; x++) {
            [[unroll]] for (uint c = 0u; c < CHANNELS; c++) {
                upper[c] = upper[CHANNELS + c];
                lower[c] = lower[CHANNELS + c];
            }
            load_pixel(y, x + 1u, CHANNELS);
            load_weights(at, (y * KERNEL + x) * CHANNELS, columns);
            [[unroll]] for (uint j = 0u; j < COLUMNS; j++) {
                [[unroll]] for (uint c = 0u; c < CHANNELS; c++) multiply(c, j, c);
            }
        }
    }
}

// Loads line y of the windows to `lower`, from fours that may begin before it and end after it.
void load_line(uint y) {
    uint ay = corner_y + y - TOP;
    bool inside = ay < HEIGHT;
    int first = int(image + (inside ? ay * WIDTH * CHANNELS : 0u) + (corner_x - LEFT) * CHANNELS), end = int(image + HEIGHT * WIDTH * CHANNELS) - 1;
    bool two = (first & 2) != 0, one = (first & 1) != 0;
    float four[LINE + 6u];
    [[unroll]] for (uint q = 0u; q < LINE + 3u; q += 4u) {
        vec4 v = LOAD4(images, images_texels, clamp((first >> 2) + int(q / 4u), 0, end >> 2));
        [[unroll]] for (uint i = 0u; i < 4u; i++) four[q + i] = v[i];
    }
    [[unroll]] for (uint j = 0u; j < LINE; j++) {
        float even = two ? four[j + 2u] : four[j];
        if (ODD) even = one ? two ? four[j + 3u] : four[j + 1u] : even;
        lower[j] = inside && corner_x + j / CHANNELS - LEFT < WIDTH ? even : 0.0;
    }
}

void next_line(uint y) {
    [[unroll]] for (uint j = 0u; j < LINE; j++) upper[j] = lower[j];
    load_line(y + 1u);
}

// Line by line: the lower line of a step is the upper one of the next.
void add_lines(uint at, uint columns) {
    load_line(0u);
    if (WHOLE) {
        [[unroll]] for (uint y = 0u; y < KERNEL; y++) {
            next_line(y);
            [[unroll]] for (uint j = 0u; j < COLUMNS; j++) {
                [[unroll]] for (uint u = 0u; u < SEGMENT; u++) multiply(y * SEGMENT + u, j, u);
            }
        }
    } else {
        [[dont_unroll]] for (uint y = 0u; y < KERNEL; y++) {
            next_line(y);
            load_weights(at, y * SEGMENT, columns);
            [[unroll]] for (uint j = 0u; j < COLUMNS; j++) {
                [[unroll]] for (uint u = 0u; u < SEGMENT; u++) multiply(u, j, u);
            }
        }
    }
}

void main() {
    uint network = gl_WorkGroupID.z, columns = n, column = gl_WorkGroupID.y * COLUMNS, last = columns - 4u;
    uint from = image_at + network / shared_by * image_stride, to = network * value_stride, image_step = image_row, value_step = value_row;
    uint begin = network * weight_stride, at = begin + weight_at + min(column + gl_SubgroupInvocationID % ACROSS * 4u, last);
    vec4 bias[ACROSS];
    [[unroll]] for (uint h = 0u; h < ACROSS; h++) bias[h] = LOAD4(params, params_texels, (begin + bias_at + min(column + 4u * h, last)) >> 2);
    if (WHOLE) load_weights(at, 0u, columns);
    uint all = rows * POOL_PLACES, step = gl_NumWorkGroups.x * LANES;
    [[dont_unroll]] for (uint i = gl_WorkGroupID.x * LANES; i < all; i += step) {
        uint own = min(i + gl_SubgroupInvocationID, all - 1u), row = own / POOL_PLACES, place = own % POOL_PLACES; // beyond the last: the last again
        image = from + row * image_step;
        corner_y = place / POOL_WIDTH * 2u;
        corner_x = place % POOL_WIDTH * 2u;
        [[unroll]] for (uint j = 0u; j < 4u * COLUMNS; j++) sums[j] = 0.0;
        if (QUADS) add_pixels(at, columns); else add_lines(at, columns);
        vec4 fours[ACROSS];
        [[unroll]] for (uint h = 0u; h < ACROSS; h++) {
            [[unroll]] for (uint j = 0u; j < 4u; j++) {
                uint k = 4u * h + j;
                fours[h][j] = max(max(sums[k], sums[COLUMNS + k]), max(sums[2u * COLUMNS + k], sums[3u * COLUMNS + k])) + bias[h][j];
            }
            fours[h] = activate(ACTIVATION, fours[h]);
        }
        uint value = (to + row * value_step + place * columns + column) / 4u, four = gl_SubgroupInvocationID % ACROSS;
        [[unroll]] for (uint h = 0u; h < ACROSS; h++) { // ACROSS lanes store what one of them has computed
            uint of = (h * LANES + gl_SubgroupInvocationID) / ACROSS;
            vec4 v = subgroupShuffle(fours[0], of);
            [[unroll]] for (uint k = 1u; k < ACROSS; k++) {
                vec4 other = subgroupShuffle(fours[k], of);
                v = four == k ? other : v;
            }
            STORE_QUAD(values, column + 4u * four <= last, subgroupShuffle(value, of) + four, v)
        }
    }
}
