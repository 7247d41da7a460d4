#version 450

// Measures of a front: the number of its members, its hypervolume, and how far both objectives spread. One invocation, so that sums have one order.

layout(local_size_x = 1) in;

layout(std430, set = 0, binding = 0) readonly buffer Objectives { float objectives[]; }; // [M, 2]
layout(std430, set = 0, binding = 1) readonly buffer Area { float area[]; };             // [M]: of emogi_front.comp
layout(std430, set = 0, binding = 2) writeonly buffer Size { float size[]; };            // [1]
layout(std430, set = 0, binding = 3) writeonly buffer Volume { float volume[]; };        // [1]
layout(std430, set = 0, binding = 4) writeonly buffer First { float first[]; };          // [1]
layout(std430, set = 0, binding = 5) writeonly buffer Second { float second[]; };        // [1]

layout(push_constant) uniform Push { uint members; };

const float LARGEST = 3.402823466e38;

void main() {
    float count = 0.0, sum = 0.0;
    vec2 low = vec2(LARGEST), high = vec2(-LARGEST);
    for (uint p = 0u; p < members; p++) {
        if (area[p] < 0.0) continue;
        count += 1.0;
        sum += area[p];
        vec2 at = vec2(objectives[2u * p], objectives[2u * p + 1u]);
        low = min(low, at);
        high = max(high, at);
    }
    size[0] = count;
    volume[0] = sum;
    first[0] = high.x - low.x;
    second[0] = high.y - low.y;
}
