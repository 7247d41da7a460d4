#version 450

// Resets and observes every environment, beginning the first episodes. One invocation per environment.
//
// Groups: x · y · local size ≥ members · environments.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_x_id = 0) in;

#include "envs/options.glsl"
#include "ENVIRONMENT"
#include "envs/wrapper.glsl"

layout(std430, set = 0, binding = 0) writeonly buffer EnvState {
    float env_state[]; // [S, M, E]
};
layout(std430, set = 0, binding = 1) writeonly buffer EpisodeStep {
    uint episode_step[]; // [M, E]
};
layout(std430, set = 0, binding = 2) writeonly buffer EpisodeReturn {
    float episode_return[]; // [M, E]
};
layout(std430, set = 0, binding = 3) writeonly buffer Obs {
    float obs[]; // [M, E, O]
};

layout(std430, set = 0, binding = 4) readonly buffer Clock {
    uint clock[]; // seed
};

layout(push_constant) uniform Push {
    uint stream;
    uint members;      // M
    uint environments; // E
};

void main() {
    uint i = gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x + gl_GlobalInvocationID.x;
    uint count = members * environments;
    if (i >= count) {
        return;
    }
    Rng rng = rng_new(clock[0], stream, i / environments, i % environments, 0u);
    float s[STATE_SIZE];
    float first[OBS_SIZE];
    Episode episode;
    episode_begin(s, episode, rng, first);
    TRANSFER_STORE(f, STATE_SIZE, s[f], env_state[f * count + i] = carried)
    episode_step[i] = episode_pack(episode);
    episode_return[i] = episode.ret;
    TRANSFER_STORE(f, OBS_SIZE, first[f], obs[i * OBS_SIZE + f] = carried)
}
