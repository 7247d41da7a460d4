// environment: PendulumMasked-v1
//
// Pendulum-v1 without its angular velocity: observed are the cosine and sine of its angle (S. Morad et al., "POPGym", 2023, has it as
// PositionOnlyPendulum, with another reward).

#define env_observe observe_all
#include "envs/pendulum.glsl"
#undef env_observe
#undef OBS_SIZE
#define OBS_SIZE 2

void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) {
    obs[0] = m_cos(s[S_THETA]);
    obs[1] = m_sin(s[S_THETA]);
}
