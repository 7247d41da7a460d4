// The common part of the layer normalization kernels: a row belongs to WIDTH adjacent invocations, each taking four
// floats at a time. WIDTH is a power of two, at most the subgroup size: 1 where gathers are as fast as contiguous
// loads.

#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x = 64, local_size_x_id = 0) in;
layout(constant_id = 0) const uint WORKGROUP = 64;
layout(constant_id = 1) const uint WIDTH = 1;
layout(constant_id = 2) const bool ALIGNED = false;    // rows and parameters begin at multiples of four floats
layout(constant_id = 3) const uint ACTIVATION = 0;

const float NORM_EPSILON = 1e-6; // as in Flax, and in mlp.glsl

// The sum over a row's invocations, the same for all of them.
float norm_sum(float x) {
    [[unroll]] for (uint i = 0u; i < 6u; i++) {
        if ((1u << i) < WIDTH) x += subgroupShuffleXor(x, 1u << i);
    }
    return x;
}

// v, with zeros beyond `rest`.
vec4 norm_within(vec4 v, uint rest) {
    if (ALIGNED) return v;
    return vec4(v.x, rest > 0u ? v.y : 0.0, rest > 1u ? v.z : 0.0, rest > 2u ? v.w : 0.0);
}
