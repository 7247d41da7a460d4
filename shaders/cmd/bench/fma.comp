#version 450

// Multiplies and adds in registers, as fast as the device can: what the speed of other kernels is measured against. Each invocation
// runs 12 chains that depend on nothing but themselves, enough to hide the latency of an operation. Written as a product and a
// sum, which a driver may fuse or not, as in every kernel of evorl. Groups: any number.

layout(local_size_x_id = 0, local_size_x = 64) in;

layout(std430, set = 0, binding = 0) writeonly buffer Result { float result[]; }; // [invocations]: keeps the work from being dropped

layout(push_constant) uniform Push {
    uint rounds; // of 8 steps of every chain each
    float factor;
    float term;
};

// Names, as an array would have to live in memory: 12 chains.
#define STEP(x) x = x * factor + term;
#define STEPS STEP(a) STEP(b) STEP(c) STEP(d) STEP(e) STEP(f) STEP(g) STEP(h) STEP(i) STEP(j) STEP(k) STEP(l)

void main() {
    float a = float(gl_GlobalInvocationID.x), b = a + 1.0, c = a + 2.0, d = a + 3.0, e = a + 4.0, f = a + 5.0;
    float g = a + 6.0, h = a + 7.0, i = a + 8.0, j = a + 9.0, k = a + 10.0, l = a + 11.0;
    for (uint round = 0u; round < rounds; round++) {
        STEPS STEPS STEPS STEPS STEPS STEPS STEPS STEPS
    }
    result[gl_GlobalInvocationID.x] = a + b + c + d + e + f + g + h + i + j + k + l;
}
