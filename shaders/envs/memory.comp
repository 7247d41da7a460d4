#version 450

// The memory with which every environment's policy takes the next step: what it carries, or zeros where an episode begins.
//
// Groups: x = ceil(count floats / local size).

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(std430, set = 0, binding = 0) readonly buffer Memory { float memory[]; };          // [M, E, floats]
layout(std430, set = 0, binding = 1) readonly buffer EpisodeStep { uint episode_step[]; }; // [M, E]
layout(std430, set = 0, binding = 2) writeonly buffer First { float first[]; };           // [M, E, floats]

layout(push_constant) uniform Push {
    uint count;  // M E
    uint floats; // of an environment's memory
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count * floats) return;
    uint word = episode_step[i / floats]; // steps in the low 30 bits, flags of an episode that has ended above (wrapper.glsl)
    first[i] = word == 0u || (word >> 30) != 0u ? 0.0 : memory[i];
}
