// Package problem holds what the searches of package ec solve.
//
//   - Policies for an environment: Policy, and DescribedPolicy for algorithms of quality diversity.
//   - Known functions: Sphere, Rosenbrock, Rastrigin, Ackley, and BBOB's; ZDT and DTLZ with several objectives; Arm for quality diversity.
//   - A function of one's own in GLSL: GLSL. One in Go needs no problem: see ec.AskTell.
package problem
