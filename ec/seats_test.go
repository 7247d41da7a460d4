package ec_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/shaders"
)

// TestSeats: a candidate plays both seats of the embedded sample of two agents, with normalized observations.
func TestSeats(t *testing.T) {
	glsl, err := fs.ReadFile(shaders.Files(), "envs/seats_sample.glsl")
	if err != nil {
		t.Fatal(err)
	}
	env, err := envs.FromGLSL("race.glsl", []byte(strings.Replace(string(glsl), "\n", "\n//! max_steps = 30\n//! iterations = 5\n", 1)))
	if err != nil {
		t.Fatal(err)
	}
	network, policy := problem.DefaultNetwork(), problem.DefaultPolicy()
	network.Hidden, network.NormalizeObs, policy.Episodes = []int{8}, problem.Running, 4
	algorithm := ec.DefaultOpenES()
	algorithm.Population, algorithm.LearningRate, algorithm.NoiseStd = 32, 0.1, 0.2
	s := search(t, open(t), algorithm, problem.Policy(env, envs.Options{}, network, policy), 2)
	if err := engine.Learn(t.Context(), s, engine.Iterations(40)); err != nil {
		t.Fatal(err)
	}
	evaluation, err := s.Evaluate(t.Context(), 20)
	if err != nil {
		t.Fatal(err)
	}
	for member, mean := range evaluation.Means() {
		if !(mean >= 0.3) {
			t.Errorf("search %d: mean return %.2f; want at least 0.3, where chance has -0.28", member, mean)
		}
	}
}
