// A world whose state stays in the buffer, for states and observations of hundreds of floats: arrays of so many are copied wherever they are passed, and
// drivers compile for minutes. The world defines STATE_IN_BUFFER and AGENTS, which may be 1, includes this file, and its functions are
//
//     void env_reset(inout Rng rng);
//     void env_step(const float action[AGENTS][ACTION_SIZE] or const uint action[AGENTS], inout Rng rng, out float reward[AGENTS], out bool terminated);
//     void env_observe(uint seat);
//
// and env_alive, env_shaped and env_global as in envs/seats.glsl, without the state. env_reset sets every element; env_observe shows every feature, once.

// Element f of the state.
float state(uint f);
void set_state(uint f, float x);

// Feature k of the seat's observation is x.
void show(uint k, float x);
