package evorl

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/evorl/evorl/engine/checkpoint"
)

// acting loads policies and writes their actions: of two steps, with the memory of the first, then after a reset of every other row.
const acting = `
import json, sys
import numpy as np
from evorlgpu import Policy
out = {}
for name, obs in json.load(open("obs.json")).items():
    policy = Policy.load(name + ".safetensors")
    policy.reset()
    first, second = policy(obs), policy(obs)
    policy.reset(np.arange(len(obs)) % 2 == 0)
    out[name] = [np.asarray(a, float).reshape(len(obs), -1).tolist() for a in (first, second, policy(obs))]
json.dump(out, sys.stdout)
`

// numpyPython returns the tests' Python, EVORL_BRIDGE_PYTHON or python3, if it has numpy; the test is skipped otherwise.
func numpyPython(t *testing.T) string {
	t.Helper()
	python, named := "python3", os.Getenv("EVORL_BRIDGE_PYTHON")
	if named != "" {
		python = named
	}
	if err := exec.Command(python, "-c", "import numpy").Run(); err != nil {
		if named != "" {
			t.Fatalf("%s cannot import numpy: %v", python, err)
		}
		t.Skipf("%s cannot import numpy (%v); EVORL_BRIDGE_PYTHON names another", python, err)
	}
	return python
}

// The Python package acts by safetensors as the policy's documentation says, for every head and form of network, from step to step.
func TestPythonPolicy(t *testing.T) {
	python := numpyPython(t)
	source, err := filepath.Abs("tools/wheel")
	if err != nil {
		t.Fatal(err)
	}
	folder, rows := t.TempDir(), map[string][][]float32{}
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range modelCases() {
		var b bytes.Buffer
		tensors, facts := c.policy().Tensors()
		if err := checkpoint.WriteSafetensors(&b, tensors, facts); err != nil {
			t.Fatal(err)
		}
		write(c.name+".safetensors", b.Bytes())
		rows[c.name] = c.observations()
	}
	text, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	write("obs.json", text)
	cmd := exec.CommandContext(t.Context(), python, "-c", acting)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "PYTHONPATH="+source)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &errors)
	}
	var got map[string][3][][]float64
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for _, c := range modelCases() {
		p := c.policy()
		memory := make([][]float32, len(rows[c.name]))
		for call, actions := range got[c.name] {
			if len(actions) != len(rows[c.name]) {
				t.Fatalf("%s: %d actions of %d observations", c.name, len(actions), len(rows[c.name]))
			}
			for i, obs := range rows[c.name] {
				if call == 0 || call == 2 && i%2 == 0 {
					memory[i] = make([]float32, p.memory())
				}
				action, _, next := act(p, obs, memory[i])
				compare(t, c.name, i, actions[i], action)
				for j, v := range next {
					memory[i][j] = float32(v)
				}
			}
		}
	}
}
