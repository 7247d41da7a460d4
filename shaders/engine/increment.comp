#version 450

// Ends an iteration of a repeated block: increments the counter. Groups: 1.

layout(local_size_x = 1) in;

layout(std430, set = 0, binding = 0) buffer Number { uint number[]; }; // [1]

void main() { number[0]++; }
