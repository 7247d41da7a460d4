package engine

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/evorl/evorl/shaders"
	"github.com/evorl/evorl/vk"
	"github.com/evorl/evorl/vk/spirv"
)

// leastInvocations is the required workgroup size: reducing kernels use it on GPUs (Recorder.Workgroup).
const leastInvocations = 256

// requirement is the largest need of any kernel for one resource.
type requirement struct {
	need   uint64
	kernel string
}

func (r *requirement) raise(need int, kernel string) {
	if uint64(need) > r.need {
		*r = requirement{uint64(need), kernel}
	}
}

// fast are kernels that run only on devices with the resources they need. Elsewhere other kernels do their work.
var fast = map[string]bool{
	"engine/nn/cell_quad_wide": true, "engine/nn/cell_scan_backward_lanes": true, "engine/nn/cell_scan_lanes": true,
	"engine/nn/convolution_pool": true,
	"engine/nn/gemm_float16":     true, "engine/nn/gemm_panel": true, "engine/nn/gemm_panel_low_rank": true, "engine/nn/narrow_backward": true,
	"envs/low_rank_rollout":   true,
	"engine/nn/low_rank_wide": true, "engine/nn/patches_backward_quad_wide": true, "engine/nn/patches_quad_wide": true, "engine/nn/pool_backward_quad_wide": true,
	"engine/nn/pool_quad_wide": true, "engine/nn/rows_quad_wide": true,
	"engine/optim/update_pair_wide": true, "engine/optim/update_wide": true, "rl/minibatch_rows_quad_wide": true, "rl/replay_obs_quad_wide": true,
	"rl/internal/lane/deterministic_update": true, "rl/internal/lane/dqn_update": true,
	"rl/internal/lane/policy_update": true, "rl/internal/lane/soft_update": true,
}

// Missing lists the requirements of the kernels that a device does not meet, one sentence each. Without any, everything runs there.
func Missing(info vk.Info) ([]string, error) {
	var buffers, texels, push requirement
	lacks := map[string]bool{} // capabilities
	var missing []string
	err := fs.WalkDir(shaders.Files(), "spv", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != shaders.PackedSuffix {
			return err
		}
		kernel := strings.TrimSuffix(strings.TrimPrefix(file, "spv/"), shaders.PackedSuffix)
		if name, _, _ := strings.Cut(kernel, "."); fast[name] { // kernel.environment
			return nil
		}
		code, err := shaders.SPIRV(kernel)
		if err != nil {
			return err
		}
		m, err := spirv.Reflect(code)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		views := 0
		for _, b := range m.Bindings {
			if b.Texel != "" {
				views++
			}
		}
		buffers.raise(len(m.Bindings)-views, kernel)
		texels.raise(views, kernel)
		push.raise(int(m.Push.Size), kernel)
		for _, c := range m.Capabilities {
			if !capable(info, c) && !lacks[c] {
				lacks[c] = true
				missing = append(missing, fmt.Sprintf("kernel %s needs the SPIR-V capability %s", kernel, c))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("engine: reading what the kernels need: %w", err)
	}
	l := info.Limits
	for _, c := range []struct {
		requirement
		have uint64
		what string
	}{
		{buffers, uint64(l.MaxBindings), "storage buffers"},
		{texels, uint64(l.MaxTexelBindings), "texel buffers"},
		{push, uint64(l.MaxPushBytes), "bytes of push constants"},
	} {
		if c.need > c.have {
			missing = append(missing, fmt.Sprintf("kernel %s needs %d %s; the device allows %d", c.kernel, c.need, c.what, c.have))
		}
	}
	if info.API < vk.MakeVersion(1, 1, 0) {
		missing = append(missing, fmt.Sprintf("Vulkan 1.1 is needed; the device has %v", info.API))
	}
	if l.MaxInvocations < leastInvocations {
		missing = append(missing, fmt.Sprintf("kernels need workgroups of %d invocations; the device allows %d", leastInvocations, l.MaxInvocations))
	}
	return missing, nil
}

// subgroupCapabilities maps SPIR-V capabilities to subgroup operations.
var subgroupCapabilities = map[string]vk.SubgroupOps{
	"GroupNonUniform": vk.SubgroupBasic, "GroupNonUniformVote": vk.SubgroupVote, "GroupNonUniformArithmetic": vk.SubgroupArithmetic,
	"GroupNonUniformBallot": vk.SubgroupBallot, "GroupNonUniformShuffle": vk.SubgroupShuffle,
	"GroupNonUniformShuffleRelative": vk.SubgroupShuffleRelative, "GroupNonUniformClustered": vk.SubgroupClustered, "GroupNonUniformQuad": vk.SubgroupQuad,
}

// capable reports whether a device has a capability. Only capabilities of every Vulkan device and of subgroup operations are known; others
// count as missing.
func capable(info vk.Info, capability string) bool {
	switch capability {
	case "Matrix", "Shader", "ImageBuffer", "SampledBuffer":
		return true
	}
	ops, known := subgroupCapabilities[capability]
	return known && info.SubgroupOps.Has(ops)
}
