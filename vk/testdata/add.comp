#version 450
// c[i] = a[i] + b[i]
layout(local_size_x_id = 0) in;
layout(std430, set = 0, binding = 0) readonly buffer A { float a[]; };
layout(std430, set = 0, binding = 1) readonly buffer B { float b[]; };
layout(std430, set = 0, binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Push { uint n; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i < n) c[i] = a[i] + b[i];
}
