#version 450
// y[4 i + k] = x4[i][k] + x1[4 i + k] + factor, the words of u4 and u1 added up beside it
layout(local_size_x = 64) in;
layout(constant_id = 1) const uint TEXEL_LOADS = 0;
layout(std430, set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1, rgba32f) readonly uniform imageBuffer X4;
layout(set = 0, binding = 2, r32f) readonly uniform imageBuffer X1;
layout(set = 0, binding = 3, rgba32ui) readonly uniform uimageBuffer U4;
layout(set = 0, binding = 4, r32ui) readonly uniform uimageBuffer U1;
layout(std430, set = 0, binding = 5) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push { uint n; };
void main() {
	uint i = gl_GlobalInvocationID.x;
	if (4u * i >= n) return;
	vec4 a = TEXEL_LOADS == 2u ? imageLoad(X4, int(i)) : x[i];
	uvec4 u = imageLoad(U4, int(i));
	for (uint k = 0u; k < 4u && 4u * i + k < n; k++) {
		float b = imageLoad(X1, int(4u * i + k)).x;
		uint w = imageLoad(U1, int(4u * i + k)).x;
		y[4u * i + k] = a[k] + b + (u[k] == floatBitsToUint(a[k]) && u[k] == w ? float(TEXEL_LOADS) : 1000.0);
	}
}
