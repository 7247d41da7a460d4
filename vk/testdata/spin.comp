#version 450
// x[i] = f(f(… f(x[i]))), f(x) = FACTOR x + 1013904223 mod 2^32, steps times: slow at will, and easy to check;
// at most 65535 steps, after which lavapipe silently leaves a loop
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint FACTOR = 1664525u;
layout(std430, set = 0, binding = 3) buffer X { uint x[]; };
layout(push_constant) uniform Push { uint n; uint steps; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i >= n) return;
	uint v = x[i];
	for (uint k = 0; k < steps; k++) v = v * FACTOR + 1013904223u;
	x[i] = v;
}
