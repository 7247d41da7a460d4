// Reads a network's input, by default from the buffer `float inputs[]` [rows, IN] and its texels inputs_texels. With
// a normalizer, the first INPUT_NORMALIZED features are normalized by `float normalizer[]` [M, 2, INPUT_NORMALIZED]:
// mean and reciprocal deviation.

#include "engine/unroll.glsl"

// Feature k of row `at`.
#ifndef INPUT
#define INPUT(at, k) LOAD(inputs, inputs_texels, (at) * IN + (k))
#endif

#ifndef INPUT_NORMALIZED
#define INPUT_NORMALIZED IN
#endif

const uint INPUT_UNITS = (IN + LANES - 1u) / LANES;

float mlp_mean[INPUT_UNITS], mlp_reciprocal[INPUT_UNITS]; // of the features that this lane reads

void mlp_input_begin(uint member) {
    UNROLL for (uint i = 0u; i < INPUT_UNITS; i++) {
        uint k = i * LANES + LANE;
        bool normalized = HAS_NORMALIZER && k < INPUT_NORMALIZED;
        mlp_mean[i] = normalized ? normalizer[member * 2u * INPUT_NORMALIZED + k] : 0.0;
        mlp_reciprocal[i] = normalized ? normalizer[(member * 2u + 1u) * INPUT_NORMALIZED + k] : 1.0;
    }
}

// Reads row `at` into mlp_x.
void mlp_input(uint at) {
    UNROLL for (uint i = 0u; i < INPUT_UNITS; i++) {
        uint k = i * LANES + LANE;
        float x = k < IN ? INPUT(at, k) : 0.0;
        if (HAS_NORMALIZER) {
            float z = clamp((x - mlp_mean[i]) * mlp_reciprocal[i], -obs_limit, obs_limit);
            x = INPUT_NORMALIZED == IN || k < INPUT_NORMALIZED ? z : x;
        }
        UNROLL for (uint j = 0u; j < LANES; j++) {
            if (i * LANES + j < IN) mlp_x[min(i * LANES + j, IN - 1u)] = subgroupShuffle(x, j);
        }
    }
}

float mlp_rows[IN]; // inputs of LANES rows, one per lane

// Reads row `at`, a different one in each lane, of inputs [rows, IN], normalizing all features, for mlp_input_of.
void mlp_input_rows(uint at) {
    UNROLL for (uint k = 0u; k < IN; k++) {
        float x = LOAD(inputs, inputs_texels, at * IN + k);
        if (HAS_NORMALIZER) {
            float mean = subgroupShuffle(mlp_mean[k / LANES], k % LANES), reciprocal = subgroupShuffle(mlp_reciprocal[k / LANES], k % LANES);
            x = clamp((x - mean) * reciprocal, -obs_limit, obs_limit);
        }
        mlp_rows[k] = x;
    }
}

// Copies the row of a lane to mlp_x. Lanes take turns, from lane 0 on.
void mlp_input_of(uint lane) {
    UNROLL for (uint k = 0u; k < IN; k++) {
        mlp_x[k] = MLP_TURN_OF(mlp_rows[k], lane);
        MLP_TURN_NEXT(mlp_rows[k])
    }
}
