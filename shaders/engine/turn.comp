#version 450

// Ends a turn of a repeated block: the counter is that of the next. Groups: 1.

layout(local_size_x = 1) in;

layout(std430, set = 0, binding = 0) buffer Turn { uint turn[]; }; // [1]

void main() { turn[0]++; }
