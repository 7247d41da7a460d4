// Package problem holds problems for the searches of package ec.
//
//   - Policies for an environment: Policy, and DescribedPolicy for quality-diversity algorithms.
//   - Benchmark functions: Sphere, Rosenbrock, Rastrigin, Ackley, and BBOB's; ZDT and DTLZ with several objectives; Arm for quality diversity.
//   - Networks that tell images apart, and that add: Classify, Add.
//   - Pictures painted like a target, or scored by a function of Go: Paint, PaintScored.
//   - Game balancing: Lineups.
//   - User-defined functions in GLSL: GLSL. A function in Go needs no problem: see ec.AskTell.
package problem
