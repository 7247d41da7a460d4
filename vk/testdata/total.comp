#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
// totals[0] is the number of invocations of a subgroup as the driver's code has them
layout(local_size_x = 64) in;
layout(std430, set = 0, binding = 0) writeonly buffer Totals { uint totals[]; };
void main() {
	uint total = subgroupAdd(1u);
	if (gl_GlobalInvocationID.x == 0) totals[0] = total;
}
