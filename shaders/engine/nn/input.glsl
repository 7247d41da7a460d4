// Reads a network's input from the buffer `float inputs[]` and its texels inputs_texels, normalized where NORMALIZE says so by `float normalizer[]` [P, 2, IN].

const uint INPUT_UNITS = (IN + LANES - 1u) / LANES;

float mlp_mean[INPUT_UNITS], mlp_reciprocal[INPUT_UNITS]; // of the features this lane reads

void mlp_input_begin(uint member) {
    [[unroll]] for (uint i = 0u; i < INPUT_UNITS; i++) {
        uint k = i * LANES + LANE;
        bool normalized = NORMALIZE != 0u && k < IN;
        mlp_mean[i] = normalized ? normalizer[member * 2u * IN + k] : 0.0;
        mlp_reciprocal[i] = normalized ? normalizer[member * 2u * IN + IN + k] : 1.0;
    }
}

// Takes row `at` of inputs [rows, IN] as mlp_x.
void mlp_input(uint at) {
    [[unroll]] for (uint i = 0u; i < INPUT_UNITS; i++) {
        uint k = i * LANES + LANE;
        float x = k < IN ? LOAD(inputs, inputs_texels, at * IN + k) : 0.0;
        if (NORMALIZE != 0u) x = clamp((x - mlp_mean[i]) * mlp_reciprocal[i], -obs_limit, obs_limit);
        [[unroll]] for (uint j = 0u; j < LANES; j++) {
            if (i * LANES + j < IN) mlp_x[min(i * LANES + j, IN - 1u)] = subgroupShuffle(x, j);
        }
    }
}

float mlp_rows[IN]; // inputs of LANES rows, one a lane

// Takes row `at`, of each lane another, of inputs [rows, IN] for mlp_input_of.
void mlp_input_rows(uint at) {
    [[unroll]] for (uint k = 0u; k < IN; k++) {
        float x = LOAD(inputs, inputs_texels, at * IN + k);
        if (NORMALIZE != 0u) {
            float mean = subgroupShuffle(mlp_mean[k / LANES], k % LANES), reciprocal = subgroupShuffle(mlp_reciprocal[k / LANES], k % LANES);
            x = clamp((x - mean) * reciprocal, -obs_limit, obs_limit);
        }
        mlp_rows[k] = x;
    }
}

// Takes the row of a lane as mlp_x.
void mlp_input_of(uint lane) {
    [[unroll]] for (uint k = 0u; k < IN; k++) mlp_x[k] = subgroupShuffle(mlp_rows[k], lane);
}
