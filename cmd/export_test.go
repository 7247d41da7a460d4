package cmd

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/checkpoint"
)

// TestExport: all forms of a policy are of the same numbers, and the table has a line for each record.
func TestExport(t *testing.T) {
	b := newBox(t)
	b.must("run", "--out", "run", "--iterations", "4", "tiny.toml")
	stdout := b.must("export", "--member", "2", "--onnx", "p.onnx", "--safetensors", "p.safetensors", "--policy", "p.json", "--csv", "m.csv",
		"--parquet", "m.parquet", "run")
	for _, want := range []string{
		"member 2 of pbt on CartPole-v1 at iteration 4", "wrote p.onnx (", "wrote p.safetensors (", "wrote p.json (", "wrote m.csv (", "wrote m.parquet (",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	var p evorl.Policy
	if err := json.Unmarshal(b.read("p.json"), &p); err != nil || len(p.Layers) != 2 || p.Member != 2 || p.Action.Head != "categorical" {
		t.Fatalf("%v: %+v", err, p)
	}
	data := b.read("p.safetensors")
	tensors, facts, err := checkpoint.ReadSafetensors(bytes.NewReader(data), int64(len(data)))
	if err != nil || len(tensors) != 4 || facts["format"] != p.Format || facts["activation"] != "tanh" || facts["member"] != "2" || facts["layers"] != "2" {
		t.Fatalf("%v: %d tensors, %v", err, len(tensors), facts)
	}
	model := b.read("p.onnx")
	for _, of := range tensors {
		raw, err := io.ReadAll(of.Data)
		if err != nil {
			t.Fatal(err)
		}
		if of.Name == "layers.1.weight" { // [out, in]
			l := p.Layers[1]
			for i := range 2 * 16 {
				if got := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])); got != l.Weight[i%16][i/16] {
					t.Errorf("weight %d is %g; the policy's is %g", i, got, l.Weight[i%16][i/16])
				}
			}
		}
		if !bytes.Contains(model, append([]byte(of.Name), 0x4a)) || !bytes.Contains(model, raw) { // field 9, raw_data, follows the name
			t.Errorf("the model does not have %s of the same numbers", of.Name)
		}
	}
	table, err := csv.NewReader(bytes.NewReader(b.read("m.csv"))).ReadAll()
	if err != nil || len(table) != 5 || table[0][0] != "iteration" || table[4][0] != "4" {
		t.Errorf("%v: %q", err, table)
	}
}

func TestExportErrors(t *testing.T) {
	b := newBox(t)
	b.write("sphere.toml", "workflow = \"snes\"\nenv = \"sphere\"\niterations = 2\n")
	b.must("run", "--out", "run", "--iterations", "2", "tiny.toml")
	b.must("run", "--out", "sphere", "sphere.toml")
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"run"}, 2, "want --onnx FILE, --safetensors FILE, --policy FILE, --png FILE, --csv FILE or --parquet FILE"},
		{[]string{"--onnx", "p.onnx"}, 2, "want one RUN_DIR"},
		{[]string{"--onnx", "p.onnx", "--member", "8", "run"}, 2, "no member 8; it has 0 to 7"},
		{[]string{"--onnx", "p.onnx", "--seed", "x", "run"}, 2, "--seed x"},
		{[]string{"--onnx", "none/p.onnx", "run"}, 1, "none/p.onnx"},
		{[]string{"--csv", "none/m.csv", "run"}, 1, "none/m.csv"},
		{[]string{"--csv", "m.csv", "nowhere"}, 1, "nowhere"},
		{[]string{"--onnx", "p.onnx", "sphere"}, 1, "snes on sphere has no policy"},
	} {
		_, stderr, status := b.run(append([]string{"export"}, c.args...)...)
		if status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("export %v: status %d, %s; want %d, %q", c.args, status, stderr, c.status, c.want)
		}
	}
}

func (b *box) read(name string) []byte {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}
