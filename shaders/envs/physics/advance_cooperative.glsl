// An environment step of a model of shaders/envs/models in cooperative form: all lanes of a subgroup together compute
// the subgroup's environments, one after another. It corresponds to advance.glsl, which takes one lane per
// environment; states, results and senses are the same. The includer has included the model's tables and defined
// STATE_SIZE, LANES, the subgroup's size, and SUBGROUP_ENVIRONMENTS, the number of lanes, the first ones, that may
// have an environment. A workgroup is one subgroup.

#include "envs/physics/cooperative/memory.glsl"
#include "envs/physics/cooperative/kinematics.glsl"
#include "envs/physics/cooperative/inertia.glsl"
#include "envs/physics/cooperative/contacts.glsl"
#include "envs/physics/cooperative/factor.glsl"
#include "envs/physics/cooperative/newton.glsl"
#include "envs/physics/cooperative/senses.glsl"
#include "envs/physics/cooperative/integrator.glsl"

// Positions that no force depends on (the first TRAVEL of them) are relative to the beginning of the environment
// step, as in advance.glsl.
const uint TRAVELLED = TRAVEL > 0 ? TRAVEL : 1;

#define ENV_DIVERGES
bool env_diverged = false; // in the last step

#define ENV_TOGETHER    // all lanes of the subgroup must reach every env_step
bool env_idle = false;  // this lane has no moving environment and only helps with the others

void env_load() { coop_load(); }

// physics_step is that of advance.glsl for the environments of all lanes that are not idle. Idle lanes keep their
// state and get false.
#define physics_step(s, action, travel, sensed) physics_steps(s, action, FRAME_SKIP, travel, sensed)
bool physics_steps(inout float s[STATE_SIZE], const float action[NU], uint steps, out float travel[TRAVELLED], out float sensed[SENSES]) {
    float force[NU];
    physics_actuate(action, force);
    [[unroll]] for (uint i = 0u; i < TRAVELLED; i++) travel[i] = 0.0;
    [[unroll]] for (uint i = 0u; i < SENSES; i++) sensed[i] = 0.0;
    uvec4 moving = subgroupBallot(!env_idle);
    bool done = false;
    [[dont_unroll]] for (uint owner = 0u; owner < SUBGROUP_ENVIRONMENTS; owner++) {
        if (!subgroupBallotBitExtract(moving, owner)) continue;
        bool mine = gl_SubgroupInvocationID == owner;
        if (mine) {
            [[unroll]] for (uint i = 0u; i < NQ; i++) coop[T_BEGIN_Q + i] = i < TRAVEL ? 0.0 : s[i];
            [[unroll]] for (uint i = 0u; i < NV; i++) {
                coop[T_BEGIN_V + i] = s[NQ + i];
                coop[T_A + i] = s[NQ + NV + i];
                coop[T_FORCE + i] = 0.0;
            }
            [[unroll]] for (uint i = 0u; i < NU; i++) coop[T_FORCE + physics_motor[i]] += force[i];
        }
        coop_sync();
        coop_steps(steps);
        bool bounded = coop_bounded();
        if (mine) {
            // Without the loop of envs/transfer.glsl: with so many live values AMD's compiler needs gigabytes for it.
            [[unroll]] for (uint i = 0u; i < SENSES; i++) sensed[i] = coop[T_SENSED + i];
            [[unroll]] for (uint i = 0u; i < TRAVEL; i++) travel[i] = bounded ? coop[T_BEGIN_Q + i] : 0.0;
            if (bounded) {
                [[unroll]] for (uint i = 0u; i < NQ; i++) s[i] = i < TRAVEL ? s[i] + coop[T_BEGIN_Q + i] : coop[T_BEGIN_Q + i];
                [[unroll]] for (uint i = 0u; i < NV; i++) {
                    s[NQ + i] = coop[T_BEGIN_V + i];
                    s[NQ + NV + i] = coop[T_A + i];
                }
            }
            done = bounded;
            env_diverged = !bounded;
        }
        coop_sync();
    }
    return done;
}
