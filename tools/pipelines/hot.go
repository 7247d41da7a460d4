package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
)

// constants are values of specialization constants, by name.
type constants map[string]uint32

// network holds the constants of a multilayer perceptron with two hidden layers of 64 and tanh, as used for the classic control tasks.
var network = constants{"HIDDEN_1": 64, "HIDDEN_2": 64, "ACTIVATION": 2}

// group holds the constants of [256, 256] networks held by a workgroup of 256 lanes (nn.MLP.Group), for subgroups of 64 lanes.
var group = constants{
	"NETWORK": 3, "HIDDEN_1": 256, "HIDDEN_2": 256, "ACTIVATION": 2, "WORKGROUP": 4 * 8, // four subgroups of the default size, which become those of the target
	"GROUP_ROWS": 4, "GROUP_HELD": 9, "GROUP_KEPT": 3, "STREAM_ALIGNED": 1,
}

// tiles holds the constants of matrix products on GPUs.
var tiles = constants{"FORM": 1, "WORKGROUP": 256, "TILE_WIDTH": 16}

// halves holds the constants of large matrix products in float16: 8 subgroups, which a target's replace.
var halves = constants{
	"WORKGROUP": 8 * 32, "LANES": 32, "SUBGROUPS_N": 4, "BLOCK_M": 4, "BLOCK_N": 2, "ALIGNED_A": 1, "ALIGNED_B": 1, "ALIGNED_C": 1,
}

// hot lists the kernels where a run spends its time, in the shapes for these networks. They must not spill.
var hot = map[string][]constants{
	"envs/rollout": {
		with(network, constants{"POLICY": 0, "TRAJECTORY": 0, "MODE": 1}), // evaluation
		with(network, constants{"POLICY": 0, "TRAJECTORY": 1}),            // training
		with(network, constants{"POLICY": 0, "TRAJECTORY": 1, "HAS_NORMALIZER": 1, "SQUASH": 1}),
		{"POLICY": 1, "TRAJECTORY": 0},
		with(group, constants{"MODE": 1, "HAS_NORMALIZER": 1, "AUTO_RESET": 3, "HAS_CAP": 1, "HAS_SEEN": 1}), // a search
	},
	"engine/nn/forward": {
		with(network, constants{"IN": 4, "IN_1": 4, "OUT": 1}),
		with(network, constants{"IN": 8, "IN_1": 8, "OUT": 2, "HAS_NORMALIZER": 1}),
		with(network, constants{"IN": 8, "IN_1": 6, "OUT": 1}), // critics of observation and action
	},
	"rl/policy_gradient": {
		with(network, constants{"IN": 4, "OUT": 2, "HEAD": 0, "HAS_MOMENTS": 1}),                      // categorical actor
		with(network, constants{"IN": 3, "OUT": 1, "HEAD": 1, "HAS_MOMENTS": 1}),                      // Gaussian actor
		with(network, constants{"IN": 4, "OUT": 1, "CRITIC": 1, "CLIP_VALUE": 1}),                     // critic
		with(network, constants{"IN": 6, "OUT": 3, "HEAD": 0, "HAS_MOMENTS": 1, "HAS_NORMALIZER": 1}), // the widest task: Acrobot
	},
	"engine/nn/gemm": {
		with(tiles, constants{"ROWS": 4, "COLUMNS": 4, "ALIGNED_A": 1, "ALIGNED_B": 1, "ALIGNED_C": 1, "HAS_BIAS": 1, "ACTIVATION": 2}), // forward
		with(tiles, constants{"ROWS": 8, "COLUMNS": 8, "ALIGNED_A": 1, "ALIGNED_B": 1, "ALIGNED_C": 1, "HAS_BIAS": 1, "ACTIVATION": 2}),
		with(tiles, constants{"ROWS": 8, "COLUMNS": 8, "ALIGNED_A": 1, "ALIGNED_B": 1, "ALIGNED_C": 1, "TRANSPOSE_A": 1}),             // weights
		with(tiles, constants{"ROWS": 8, "COLUMNS": 8, "ALIGNED_A": 1, "ALIGNED_B": 1, "ALIGNED_C": 1, "TRANSPOSE_B": 1, "SLOPE": 2}), // inputs
		with(tiles, constants{"ROWS": 4, "COLUMNS": 4, "TILE_WIDTH": 4, "ALIGNED_A": 1, "HAS_BIAS": 1}),                               // few outputs
		{"FORM": 2, "WORKGROUP": 256, "SLICES": 4, "ALIGNED_A": 1, "ALIGNED_B": 1, "ALIGNED_C": 1, "HAS_BIAS": 1, "ACTIVATION": 2},    // one row
	},
	// Compiled only for devices with cooperative matrices, such as navi31/32 of Mesa 25.
	"engine/nn/gemm_float16": {
		with(halves, constants{"HAS_BIAS": 1, "ACTIVATION": 2}),        // forward, 128 × 128
		with(halves, constants{"TRANSPOSE_A": 1}),                      // weights
		with(halves, constants{"TRANSPOSE_B": 1, "SLOPE": 2}),          // inputs
		{"SUBGROUPS_N": 2, "BLOCK_M": 2, "BLOCK_N": 2, "ALIGNED_A": 1}, // 64 × 64
	},
	"engine/optim/update":      {{}, {"HAS_TARGET": 1, "RULE": 2}},
	"engine/optim/update_pair": {{"RULE": 2}},
}

func with(all ...constants) constants {
	merged := constants{}
	for _, c := range all {
		maps.Copy(merged, c)
	}
	return merged
}

// hotShapes returns the hot pipelines of a kernel.
func hotShapes(kernel string, s *vk.Shader) ([]pipeline, error) {
	var all []pipeline
	if solves(s) {
		return nil, nil
	}
	for _, shape := range hot[kernel] {
		p := pipeline{PipelineSource: vk.PipelineSource{Shader: s}, hot: true}
		for _, c := range s.Spec {
			p.Spec = append(p.Spec, c.Default)
		}
		for name, value := range shape {
			if err := checkConstant(kernel, name); err != nil {
				return nil, err
			}
			p.set(name, value) // a constant that the optimiser removed changes nothing
		}
		all = append(all, p)
	}
	return all, nil
}

// solves reports whether a kernel steps an environment by loops of its own, such as the passes of a solver. State,
// observations and the network are idle in these loops, so spilling them is acceptable.
func solves(s *vk.Shader) bool {
	_, environment, ok := strings.Cut(s.Name, ".")
	if !ok {
		return false
	}
	e, err := envs.Lookup(strings.TrimSuffix(environment, ".cooperative"))
	return err == nil && e.Iterations > 0
}

// checkConstant checks that the table above matches the shaders.
func checkConstant(kernel, name string) error {
	environment := ""
	if takes, err := shaders.TakesEnvironment(shaders.Files(), kernel); err != nil {
		return err
	} else if takes {
		environment = "CartPole-v1"
	}
	source, err := shaders.Compose(kernel, environment)
	if err != nil {
		return err
	}
	for _, known := range constantNames(source) {
		if known == name {
			return nil
		}
	}
	return fmt.Errorf("kernel %q has no constant %s; tools/pipelines/hot.go sets it", kernel, name)
}

// isHot reports whether a logged pipeline is a hot kernel whose network is not larger than those of the table.
func isHot(p pipeline) bool {
	kernel, _, _ := strings.Cut(p.Shader.Name, ".")
	if hot[kernel] == nil || solves(p.Shader) {
		return false
	}
	for i, c := range p.Shader.Spec {
		if slices.Contains([]string{"HIDDEN_1", "HIDDEN_2"}, c.Name) && p.Spec[i] > 64 || c.Name == "LAYER_NORM" && p.Spec[i] != 0 {
			return false
		}
	}
	return true
}
