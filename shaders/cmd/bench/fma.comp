#version 450

// Multiplies and adds in registers, as fast as the device can: what the speed of other kernels is measured against.
// Written as a product and a sum, which a driver may fuse or not, as in every kernel of evorl. Groups: any number. At
// least one round.
//
// Each invocation runs 12 chains that depend on nothing but themselves, and a step of a chain is a tree of products
// and sums: software drivers write one chain of operations after the other, however they are mixed here, and if each
// waited for the one before, a processor would see few that it can start. They also read push constants lane by lane
// wherever a loop names them, and run once more through a loop whose condition comes first.

layout(local_size_x_id = 0, local_size_x = 64) in;

layout(std430, set = 0, binding = 0) writeonly buffer Result { float result[]; }; // [invocations]: keeps the work from being dropped

layout(push_constant) uniform Push {
    uint rounds; // of a step of every chain each
    float term;
};

// A tree of 31 products and sums. Its values stay near 0.4 with a term of 0.25.
#define LEAF(x, factor) ((x) * (factor) + shift)
#define JOIN(x, y) ((x) * (y) + shift)
#define TREE_4(x, f) JOIN(JOIN(LEAF(x, f), LEAF(x, f + 0.01)), JOIN(LEAF(x, f + 0.02), LEAF(x, f + 0.03)))
#define TREE_16(x) JOIN(JOIN(TREE_4(x, 0.1), TREE_4(x, 0.2)), JOIN(TREE_4(x, 0.3), TREE_4(x, 0.4)))

// Names, as an array would have to live in memory: 12 chains.
#define STEP(x) x = TREE_16(x);

void main() {
    float a = 1.0 / (1.0 + float(gl_GlobalInvocationID.x)), b = 0.9 * a, c = 0.8 * a, d = 0.7 * a, e = 0.6 * a, f = 0.5 * a;
    float g = 0.4 * a, h = 0.3 * a, i = 0.2 * a, j = 0.1 * a, k = 1.1 * a, l = 1.2 * a;
    float shift = term;
    uint left = rounds;
    do {
        STEP(a) STEP(b) STEP(c) STEP(d) STEP(e) STEP(f) STEP(g) STEP(h) STEP(i) STEP(j) STEP(k) STEP(l)
        left--;
    } while (left > 0u);
    result[gl_GlobalInvocationID.x] = a + b + c + d + e + f + g + h + i + j + k + l;
}
