// A network that the lanes of a workgroup evaluate for one input per lane of a subgroup, in one of four forms. The
// includer declares what the forms need, and has a workgroup of one subgroup, except for NETWORK_GROUP, where the
// inputs are the first subgroup's.

layout(constant_id = 5) const uint NETWORK = 0; // one of the following
const uint NETWORK_LANES = 0u;  // one network for all lanes, held in them (mlp.glsl)
const uint NETWORK_STREAM = 1u; // one network for all lanes, streamed from the buffer (mlp_stream.glsl)
const uint NETWORK_OWN = 2u;    // one network per lane, held by the lane alone (mlp_own.glsl)
const uint NETWORK_GROUP = 3u;  // one network for all lanes of several subgroups, held by them together (mlp_group.glsl)

#include "engine/nn/mlp.glsl"
#include "engine/nn/mlp_stream.glsl"
#include "engine/nn/mlp_own.glsl"
#include "engine/nn/mlp_group.glsl"

uint network_base;

// network_lane is the index of this lane in the workgroup.
uint network_lane() { return NETWORK == NETWORK_GROUP ? group_lane() : LANE; }

// network_any reports whether v is true in any lane of the workgroup. All lanes must call it together.
bool network_any(bool v) { return NETWORK == NETWORK_GROUP ? group_any(v) : subgroupAny(v); }

// network_load prepares the parameters that begin at `base`, a multiple of four.
void network_load(uint base) {
    network_base = base;
    if (NETWORK == NETWORK_LANES) mlp_load(base);
    if (NETWORK == NETWORK_OWN) own_load(base);
    if (NETWORK == NETWORK_GROUP) group_load(base);
}

// network_forward computes each lane's outputs y from its inputs x. Only the first `present` lanes have inputs; in
// networks for all lanes, the others' outputs are zero.
void network_forward(const float x[IN], uint present, out float y[OUT]) {
    UNROLL for (uint o = 0u; o < OUT; o++) y[o] = 0.0;
    if (NETWORK == NETWORK_OWN) {
        own_forward(x, y);
    } else if (NETWORK == NETWORK_STREAM) {
        stream_forward(network_base, x, present, y);
    } else if (NETWORK == NETWORK_GROUP) {
        group_forward(x, present, y);
    } else {
        float turns[IN] = x;
        uint e = 0u;
        [[dont_unroll]] while (true) { // it ends with its last statement: see engine/nn/mlp_stream.glsl
            UNROLL for (uint k = 0u; k < IN; k++) {
                mlp_x[k] = MLP_TURN_OF(turns[k], e);
                MLP_TURN_NEXT(turns[k])
            }
            mlp_forward();
            UNROLL for (uint o = 0u; o < OUT; o++) y[o] = LANE == e ? mlp_y[o] : y[o];
            if (++e >= present) break;
        }
    }
}
