#version 450

// One step of every environment with given actions. One invocation per environment or, if lanes compute their
// environments together (ENV_TOGETHER), SUBGROUP_ENVIRONMENTS environments per workgroup, which is then a subgroup.
//
// Groups: x · y · SUBGROUP_ENVIRONMENTS ≥ members · environments.

#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_vote : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 64;
layout(constant_id = 28) const uint SUBGROUP_ENVIRONMENTS = 64; // environments per workgroup

layout(std430, set = 0, binding = 9) readonly buffer Tables { uint tables[]; }; // of the model, for ENV_TOGETHER

#include "envs/options.glsl"
#include "ENVIRONMENT"
#include "envs/wrapper.glsl"

layout(std430, set = 0, binding = 0) buffer EnvState {
    float env_state[]; // [S, M, E]
};
layout(std430, set = 0, binding = 1) buffer EpisodeStep {
    uint episode_step[]; // [M, E]
};
layout(std430, set = 0, binding = 2) buffer EpisodeReturn {
    float episode_return[]; // [M, E]
};
layout(std430, set = 0, binding = 3) readonly buffer Action {
    uint action[]; // [M, E] actions, or [M, E, D] floats as their bits
};
layout(std430, set = 0, binding = 4) writeonly buffer Obs {
    float obs[]; // [M, E, O], to act on next
};
layout(std430, set = 0, binding = 5) writeonly buffer NextObs {
    float next_obs[]; // [M, E, O], before any reset
};
layout(std430, set = 0, binding = 6) writeonly buffer Reward {
    float reward[]; // [M, E]
};
layout(std430, set = 0, binding = 7) writeonly buffer Done {
    uint done[]; // [M, E], DONE_* flags
};

layout(std430, set = 0, binding = 8) readonly buffer Clock {
    uint clock[]; // seed, step: 1 for the first after a reset of all
};

layout(push_constant) uniform Push {
    uint stream;
    uint members;      // M
    uint environments; // E
};

void main() {
    uint count = members * environments;
#ifdef ENV_TOGETHER
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * SUBGROUP_ENVIRONMENTS + gl_SubgroupInvocationID;
    env_idle = i >= count || gl_SubgroupInvocationID >= SUBGROUP_ENVIRONMENTS;
    i = min(i, count - 1u);
    env_load();
#else
    uint i = gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x + gl_GlobalInvocationID.x;
    if (i >= count) {
        return;
    }
#endif
    Rng rng = rng_new(clock[0], stream, i / environments, i % environments, clock[1]);
    float s[STATE_SIZE];
    TRANSFER_LOAD(s, f, STATE_SIZE, env_state[f * count + i])
    Episode episode = episode_unpack(episode_step[i], episode_return[i]);
#if DISCRETE
    uint a = action[i];
#else
    float a[ACTION_SIZE];
    for (uint f = 0u; f < ACTION_SIZE; f++) {
        a[f] = uintBitsToFloat(action[i * ACTION_SIZE + f]);
    }
#endif
    float paid, last[OBS_SIZE], following[OBS_SIZE];
    uint flags;
    episode_advance(s, episode, a, rng, paid, flags, last, following);
    if (env_idle) {
        return;
    }
    TRANSFER_STORE(f, STATE_SIZE, s[f], env_state[f * count + i] = carried)
    episode_step[i] = episode_pack(episode);
    episode_return[i] = episode.ret;
    reward[i] = paid;
    done[i] = flags;
    TRANSFER_STORE(f, OBS_SIZE, following[f], obs[i * OBS_SIZE + f] = carried)
    TRANSFER_STORE(f, OBS_SIZE, last[f], next_obs[i * OBS_SIZE + f] = carried)
}
