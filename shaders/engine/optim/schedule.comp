#version 450

// Every member's learning rate times the schedule's factor after t steps of the clock, with W = warmup, N = anneal,
// F = final and T = steps:
//
//   min(1, (t + T) / W) (F + (1 - F) s(x)),   x = min(max(t - W, 0) / (N - W), 1)
//
// s(x) is 1 - x, or with COSINE (1 + cos(pi x)) / 2 (I. Loshchilov, F. Hutter, "SGDR", 2017, equation 5).
//
// Groups: x = ceil(members / local size).

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool COSINE = false;

#include "engine/math.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Rate { float rate[]; };            // [M]
layout(std430, set = 0, binding = 1) readonly buffer Clock { uint clock[]; };           // [1]: steps of every environment
layout(std430, set = 0, binding = 2) writeonly buffer Scheduled { float scheduled[]; }; // [M]

layout(push_constant) uniform Push {
    uint members;
    float rise;   // 1 / W; 0: no warm-up
    float fall;   // 1 / (N - W); 0: no annealing
    float warmup; // W
    float final;  // F
    float steps;  // T: of the iteration, which are taken before its updates
};

void main() {
    uint member = gl_GlobalInvocationID.x;
    if (member >= members) return;
    float t = float(clock[1]);
    float x = min(fall * max(t - warmup, 0.0), 1.0);
    float s = COSINE ? 0.5 + 0.5 * m_cos(3.14159265358979 * x) : 1.0 - x;
    float warm = rise > 0.0 ? min(rise * (t + steps), 1.0) : 1.0;
    scheduled[member] = rate[member] * (warm * (final + (1.0 - final) * s));
}
