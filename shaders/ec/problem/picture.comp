#version 450

// The pictures of candidates. Groups: x = tiles of a picture, y = candidates.

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const uint WORDS = 2; // 32 triangles each

#include "ec/problem/paint.glsl"

layout(std430, set = 0, binding = 2) writeonly buffer Picture { float picture[]; }; // [M * window, height, width, 3]

void main() {
    uvec2 place = paint_place();
    vec4 red[PAINT_ROWS], green[PAINT_ROWS], blue[PAINT_ROWS];
    paint(place, red, green, blue);
    for (uint i = 0u; i < PAINT_ROWS; i++) {
        uint row = place.x + i;
        if (row >= height) continue;
        for (uint j = 0u; j < 4u; j++) {
            if (place.y + j >= width) continue;
            uint to = ((gl_WorkGroupID.y * height + row) * width + place.y + j) * 3u;
            picture[to] = red[i][j];
            picture[to + 1u] = green[i][j];
            picture[to + 2u] = blue[i][j];
        }
    }
}
