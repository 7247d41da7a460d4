// What networks of low rank add to a row of a product with shared weights, where it is finished (low_rank.glsl): s (x A) B' + bias, with the B and bias of
// the row's network. A kernel before (low_rank_project.comp) has computed s (x A). The product of a cell's memory has no bias.

layout(constant_id = 10) const bool HAS_VECTORS = false; // there is a bias
layout(constant_id = 18) const uint EACH = 1;         // rows of a network
layout(constant_id = 29) const uint RANK = 1;
layout(constant_id = 30) const bool MIRRORED = false; // networks 2 q and 2 q + 1 share a draw

layout(std430, set = 0, binding = 4) readonly buffer Projections { vec4 projections[]; }; // [M, rows, PROJECTION]: s (x A)
layout(set = 0, binding = 5, rgba32f) readonly uniform imageBuffer projections_texels;
layout(std430, set = 0, binding = 6) readonly buffer Factors { vec4 factors[]; };         // [M, draws, RANK, component]
layout(set = 0, binding = 7, rgba32f) readonly uniform imageBuffer factors_texels;
layout(std430, set = 0, binding = 8) readonly buffer Vectors { vec4 vectors[]; };         // [M, networks, vector]; optional
layout(set = 0, binding = 9, rgba32f) readonly uniform imageBuffer vectors_texels;

// Push constants that these functions need.
#define LOW_RANK_PUSH                                                           \
    uint component; /* floats of a component, a multiple of four */             \
    uint draws;     /* of a member */                                           \
    uint networks;  /* of a member */                                           \
    uint vector;    /* floats of a network's vectors, a multiple of four */     \
    uint bias;      /* where the layer's bias is among them */                  \
    uint factor;    /* where the layer's B is in a component */                 \
    uint first_row; /* of the rows among all rows of the member */              \
    uint first;     /* index of the first network in its population */

const uint PROJECTION_FOURS = (RANK + 3u) / 4u;
const uint PROJECTION = 4u * PROJECTION_FOURS; // floats of a row

// The push constants, and the number of the row among all members'.
struct LowRank {
    uint component, draws, networks, vector, bias, factor, first_row, first;
};

// Where a row's numbers are, in fours.
struct LowRankRow {
    uint projection, factor, bias;
};

LowRankRow low_rank_row(LowRank of, uint member, uint rows, uint row) {
    uint network = (of.first_row + row) / EACH, candidate = of.first + network;
    uint draw = MIRRORED ? (candidate >> 1) - (of.first >> 1) : network;
    return LowRankRow((member * rows + row) * PROJECTION_FOURS, ((member * of.draws + draw) * RANK * of.component + of.factor) >> 2,
                      ((member * of.networks + network) * of.vector + of.bias) >> 2);
}

// Of four columns, from `column` on, a multiple of four: what they add to the product. What it is beyond the last column has no meaning.
vec4 low_rank_columns(LowRankRow r, uint component, uint column) {
    vec4 v = HAS_VECTORS ? LOAD4(vectors, vectors_texels, r.bias + (column >> 2)) : vec4(0.0);
    [[unroll]] for (uint f = 0u; f < PROJECTION_FOURS; f++) {
        vec4 p = LOAD4(projections, projections_texels, r.projection + f);
        [[unroll]] for (uint q = 0u; q < min(RANK - 4u * f, 4u); q++) {
            v += p[q] * LOAD4(factors, factors_texels, r.factor + ((4u * f + q) * component + column >> 2));
        }
    }
    return v;
}
