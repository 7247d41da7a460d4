#version 450

// What each parent adds to the hypervolume of the front, from 0 and 0 on: the area that those with a greater first objective do not dominate; -1 for a
// dominated one. Of twins, the first adds all. Groups: x = ceil(members / local size).

layout(local_size_x = 8) in;

layout(std430, set = 0, binding = 0) readonly buffer Objectives { float objectives[]; }; // [M, 2]
layout(std430, set = 0, binding = 1) writeonly buffer Area { float area[]; };            // [M]

layout(push_constant) uniform Push { uint members; };

void main() {
    uint p = gl_GlobalInvocationID.x;
    if (p >= members) return;
    float x = objectives[2u * p], y = objectives[2u * p + 1u], under = 0.0;
    bool dominated = false, twin = false;
    for (uint q = 0u; q < members; q++) {
        float u = objectives[2u * q], v = objectives[2u * q + 1u];
        dominated = dominated || u >= x && v >= y && (u > x || v > y);
        twin = twin || q < p && u == x && v == y;
        if (u > x) under = max(under, v);
    }
    area[p] = dominated ? -1.0 : twin ? 0.0 : max(x, 0.0) * max(y - under, 0.0);
}
