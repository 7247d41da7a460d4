#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64, local_size_x_id = 0, local_size_y = 2) in;
layout(constant_id = 7) const uint LANES = 4;
layout(constant_id = 3) const bool FAST = false;
layout(constant_id = 4) const float GAIN = 1.5;
layout(constant_id = 5) const int SHIFT = -2;
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 2) writeonly buffer C { vec4 c[]; };
layout(std430, set = 0, binding = 1) buffer env_state { uint count; uvec2 words[]; };
layout(push_constant) uniform Push { uint m; float x; uvec2 y; int z[3]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < m) {
        float s = subgroupAdd(a[i]) * x * GAIN;
        c[i] = vec4(FAST ? s : float(z[1] + SHIFT));
        words[i] += y * LANES;
    }
}
