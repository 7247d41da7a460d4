package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/evorl/evorl/internal/spv"
	"github.com/evorl/evorl/shaders"
)

// SPIRV-Tools and internal/spv agree about which operands are identifiers: a module whose identifiers are numbered anew reads as before but for
// the numbers.
func TestPackedModulesReadAlike(t *testing.T) {
	if _, err := exec.LookPath("spirv-dis"); err != nil {
		t.Log("spirv-dis is not installed: what needs it is tested where it is")
		return
	}
	// These have most instructions between them.
	for _, name := range []string{"envs/rollout.CartPole-v1", "envs/step.Ant-v5.cooperative", "engine/nn/gemm_panel", "rl/internal/lane/policy_update", "ec/ars"} {
		code, err := shaders.SPIRV(name)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := spv.Pack(renumbered(t, code))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := spv.Unpack(packed)
		if err != nil || !bytes.Equal(again, code) {
			t.Errorf("%s with other numbers does not come back the same: %v", name, err)
		}
	}
}

// renumbered returns a module with other numbers of identifiers, which the assembler of SPIRV-Tools chose.
func renumbered(t *testing.T, code []byte) []byte {
	t.Helper()
	run := func(stdin []byte, name string, args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Stdin = bytes.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return out
	}
	text := string(run(code, "spirv-dis", "--raw-id", "--no-color", "-"))
	other := run([]byte(strings.ReplaceAll(text, "%", "%id_")), "spirv-as", "--target-env", "vulkan1.1", "-", "-o", "-")
	copy(other[4:12], code[4:12]) // version and generator
	if bytes.Equal(other, code) {
		t.Fatal("the assembler chose the same numbers")
	}
	return other
}
