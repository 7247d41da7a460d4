// Paints a tile of a candidate's picture, in registers: WORKGROUP invocations of PAINT_ROWS rows of four pixels each. The includer declares WORKGROUP and
// WORDS. Triangles that do not touch the tile are left out: near has a bit for each of the others, in the order of painting.

#extension GL_KHR_memory_scope_semantics : require

#include "engine/load.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Prepared { vec4 prepared[]; }; // [M * window, triangles, 4], see triangles.comp
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer prepared_texels;

layout(push_constant) uniform Push {
    uint triangles;
    uint height;
    uint width;
};

const uint PAINT_ROWS = 4u;
const uint TILE_QUADS = WORKGROUP >= 64u ? 8u : 4u; // of four pixels, across a tile
const uint TILE_WIDTH = 4u * TILE_QUADS;
const uint TILE_HEIGHT = WORKGROUP / TILE_QUADS * PAINT_ROWS;

shared uint near[WORDS];

// Workgroup scope: without an explicit scope the atomics would have device scope.
#define shared_or(x, bits) atomicOr(x, bits, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsRelaxed)

#define TRIANGLE(t, part) LOAD4(prepared, prepared_texels, (gl_WorkGroupID.y * triangles + (t)) * 4u + part)

// The largest value of an edge function in a tile.
float largest(vec3 edge, vec2 low, vec2 high) {
    vec2 most = max(edge.xy * low, edge.xy * high);
    return most.x + most.y + edge.z;
}

// Finds the triangles that touch the tile of pixels from low to high. All invocations must call it together.
void find_near(vec2 low, vec2 high) {
    for (uint w = gl_LocalInvocationID.x; w < WORDS; w += WORKGROUP) near[w] = 0u;
    barrier();
    for (uint t = gl_LocalInvocationID.x; t < triangles; t += WORKGROUP) {
        vec4 box = TRIANGLE(t, 3u);
        if (any(greaterThan(box.xy, high)) || any(lessThan(box.zw, low))) continue;
        vec4 first = TRIANGLE(t, 0u), second = TRIANGLE(t, 1u);
        vec3 third = vec3(0.0, 0.0, first.w) - first.xyz - second.xyz;
        if (min(min(largest(first.xyz, low, high), largest(second.xyz, low, high)), largest(third, low, high)) < 0.0) continue;
        shared_or(near[t >> 5], 1u << (t & 31u));
    }
    barrier();
}

// The first row of this invocation, and its first column.
uvec2 paint_place() {
    uint across = (width + TILE_WIDTH - 1u) / TILE_WIDTH;
    return uvec2(gl_WorkGroupID.x / across * TILE_HEIGHT + gl_LocalInvocationID.x / TILE_QUADS * PAINT_ROWS,
                 gl_WorkGroupID.x % across * TILE_WIDTH + gl_LocalInvocationID.x % TILE_QUADS * 4u);
}

// Paints on white: c = c (1 - alpha) + colour alpha for one triangle after the other.
void paint(uvec2 place, out vec4 red[PAINT_ROWS], out vec4 green[PAINT_ROWS], out vec4 blue[PAINT_ROWS]) {
    uint across = (width + TILE_WIDTH - 1u) / TILE_WIDTH;
    vec2 low = vec2(gl_WorkGroupID.x / across * TILE_HEIGHT, gl_WorkGroupID.x % across * TILE_WIDTH);
    find_near(low, min(low + vec2(TILE_HEIGHT, TILE_WIDTH), vec2(height, width)) - 1.0);
    for (uint i = 0u; i < PAINT_ROWS; i++) {
        red[i] = green[i] = blue[i] = vec4(1.0);
    }
    vec2 at = vec2(place);
    for (uint w = 0u; w < WORDS; w++) {
        for (uint bits = near[w]; bits != 0u; bits &= bits - 1u) {
            uint t = w * 32u + findLSB(bits);
            vec4 first = TRIANGLE(t, 0u), second = TRIANGLE(t, 1u), colour = TRIANGLE(t, 2u);
            vec4 e0 = vec4(dot(first.xy, at) + first.z) + first.y * vec4(0.0, 1.0, 2.0, 3.0);
            vec4 e1 = vec4(dot(second.xy, at) + second.z) + second.y * vec4(0.0, 1.0, 2.0, 3.0);
            for (uint i = 0u; i < PAINT_ROWS; i++) {
                vec4 least = min(min(e0, e1), first.w - e0 - e1);
                vec4 alpha = mix(vec4(0.0), vec4(second.w), greaterThanEqual(least, vec4(0.0)));
                red[i] += alpha * (colour.x - red[i]);
                green[i] += alpha * (colour.y - green[i]);
                blue[i] += alpha * (colour.z - blue[i]);
                e0 += first.x;
                e1 += second.x;
            }
        }
    }
    for (uint i = 0u; i < PAINT_ROWS; i++) {
        red[i] = clamp(red[i], 0.0, 1.0);
        green[i] = clamp(green[i], 0.0, 1.0);
        blue[i] = clamp(blue[i], 0.0, 1.0);
    }
}
