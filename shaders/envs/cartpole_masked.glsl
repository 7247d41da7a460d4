// environment: CartPoleMasked-v1
//
// CartPole-v1 without its velocities: observed are the cart's position and the pole's angle, so a policy without memory cannot tell where they go
// (S. Morad et al., "POPGym", 2023, has it as PositionOnlyCartPole, with another reward).

#define env_observe observe_all
#include "envs/cartpole.glsl"
#undef env_observe
#undef OBS_SIZE
#define OBS_SIZE 2

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = s[S_X];
    obs[1] = s[S_THETA];
}
