#version 450
// y[i] = x[i] + TEXEL_LOADS, from either view of x
layout(local_size_x = 64) in;
layout(constant_id = 1) const uint TEXEL_LOADS = 0;
layout(std430, set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer x_texels;
layout(std430, set = 0, binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push { uint n; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	if (i >= n) return;
	y[i] = (TEXEL_LOADS == 2u ? imageLoad(x_texels, int(i >> 2))[i & 3u] : x[i]) + float(TEXEL_LOADS);
}
