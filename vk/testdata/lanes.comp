#version 450
#extension GL_KHR_shader_subgroup_basic : require
// lanes[0] is the subgroup size that the driver chose
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) writeonly buffer Lanes { uint lanes[]; };
void main() {
	if (gl_GlobalInvocationID.x == 0) lanes[0] = gl_SubgroupSize;
}
