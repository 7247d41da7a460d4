#version 450

// Which members update their actors after an update of their critics: each once in `delay` updates; fractions hold on
// average. Credit counts the updates since the last one, plus its remainder.
//
// Groups: x = ceil(members / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Delay { float delay[]; };     // [M]: at least 1
layout(std430, set = 0, binding = 1) readonly buffer Tau { float tau[]; };         // [M]
layout(std430, set = 0, binding = 2) buffer Credit { float credit[]; };            // [M]
layout(std430, set = 0, binding = 3) writeonly buffer Due { uint due[]; };         // [M, actors]: 1 or 0
layout(std430, set = 0, binding = 4) writeonly buffer DueTau { float due_tau[]; }; // [M]: tau if it is due, otherwise 0
layout(std430, set = 0, binding = 5) writeonly buffer ActorTau { float actor_tau[]; }; // [M, actors]: the same

layout(push_constant) uniform Push {
    uint members;
    uint actors; // of a member, which are due together
};

void main() {
    uint member = gl_GlobalInvocationID.x;
    if (member >= members) return;
    float have = credit[member] + 1.0;
    bool now = have >= delay[member];
    // A member whose delay has decreased does not catch up.
    credit[member] = now ? min(have - delay[member], 1.0) : have;
    due_tau[member] = now ? tau[member] : 0.0;
    for (uint i = member * actors; i < (member + 1u) * actors; i++) {
        due[i] = now ? 1u : 0u;
        actor_tau[i] = now ? tau[member] : 0.0;
    }
}
