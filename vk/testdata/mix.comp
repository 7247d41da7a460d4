#version 450
// h[0] = factor h[0] + c[0] + 1, mod 2^32: a history of what was added, in order
layout(local_size_x = 1) in;
layout(std430, set = 0, binding = 0) readonly buffer C { uint c[]; };
layout(std430, set = 0, binding = 1) buffer H { uint h[]; };
layout(push_constant) uniform Push { uint factor; };
void main() { h[0] = factor * h[0] + c[0] + 1u; }
