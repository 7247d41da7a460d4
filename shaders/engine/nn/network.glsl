// A network that all lanes of a subgroup evaluate together, for an input of each lane: held in the lanes (mlp.glsl), or streamed from the buffer
// (mlp_stream.glsl). The includer declares what those two want.

layout(constant_id = 5) const uint STREAMED = 0; // 1: streamed

#include "engine/nn/mlp.glsl"
#include "engine/nn/mlp_stream.glsl"

uint network_base;

// network_load makes ready for the parameters that begin at `base`, a multiple of four.
void network_load(uint base) {
    network_base = base;
    if (STREAMED == 0u) mlp_load(base);
}

// network_forward sets each lane's outputs y from its inputs x. The first `present` lanes have some; the others' outputs are zero.
void network_forward(const float x[IN], uint present, out float y[OUT]) {
    [[unroll]] for (uint o = 0u; o < OUT; o++) y[o] = 0.0;
    if (STREAMED != 0u) {
        stream_forward(network_base, x, present, y);
    } else {
        [[dont_unroll]] for (uint e = 0u; e < present; e++) {
            [[unroll]] for (uint k = 0u; k < IN; k++) mlp_x[k] = subgroupShuffle(x[k], e);
            mlp_forward();
            [[unroll]] for (uint o = 0u; o < OUT; o++) y[o] = LANE == e ? mlp_y[o] : y[o];
        }
    }
}
