// Package mjcf makes GLSL dynamics of MuJoCo models: straight-line code with the model's constants, from what MuJoCo's
// own compiler makes of an MJCF file. docs/physics.md describes the supported models. tools/mjcf is its command.
//
// Compile and ReadModel give a Model, Program its GLSL, View and Geometry what a viewer shows of it.
package mjcf
