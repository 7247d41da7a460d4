package vk

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestPipelineLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	for range 2 { // the second device compiles the same
		d := openTest(t, PipelineLog(dir))
		x := newTestBuffer(t, d, 3*64, Local)
		p := d.NewProgram("log")
		call := addCall(x.Range(0, 256), x.Range(256, 256), x.Range(512, 256), 64)
		p.Dispatch(call)
		p.Dispatch(call)
		call.Spec = []uint32{32}
		p.Dispatch(call)
		build(t, p)
	}
	got, err := ReadPipelineLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 {
		t.Fatalf("%d pipelines logged, want 2: %v", len(got), got)
	}
	if got[0].Spec[0] > got[1].Spec[0] {
		got[0], got[1] = got[1], got[0]
	}
	for i, size := range []uint32{32, 64} {
		shader, want := *got[i].Shader, *addShader
		if !bytes.Equal(shader.SPIRV(), want.SPIRV()) {
			t.Error("the module logged is another one")
		}
		shader.SPIRV, want.SPIRV = nil, nil // functions, which DeepEqual does not compare
		if !reflect.DeepEqual(shader, want) || got[i].Spec[0] != size || got[i].DeviceSubgroup == 0 {
			t.Errorf("logged %+v, want kernel add with %d invocations", got[i], size)
		}
	}
}

func TestPipelineLogFaults(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "torn.json")
	if err := os.WriteFile(file, []byte(`{"Shader": {"Na`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPipelineLog(dir); err == nil || !strings.Contains(err.Error(), "torn.json") {
		t.Errorf("reading a torn log: %v", err)
	}
	d := openTest(t, PipelineLog(filepath.Join(file, "no folder")))
	p := d.NewProgram("log")
	x := newTestBuffer(t, d, 3*64, Local)
	p.Dispatch(addCall(x.Range(0, 256), x.Range(256, 256), x.Range(512, 256), 64))
	if err := p.Build(); err == nil || !strings.Contains(err.Error(), "pipeline log") {
		t.Errorf("a log that cannot be written: %v", err)
	}
}

func TestVariants(t *testing.T) {
	d := openTest(t)
	x := newTestBuffer(t, d, 3*64, Local)
	p := d.NewProgram("variants")
	call := addCall(x.Range(0, 256), x.Range(256, 256), x.Range(512, 256), 64)
	for _, size := range []uint32{32, 64, addShader.Spec[0].Default} {
		call.Spec = []uint32{size}
		p.Dispatch(call)
	}
	if got := d.Variants(); len(got) != 0 {
		t.Errorf("%v before anything is compiled", got)
	}
	build(t, p)
	var want []string
	name := addShader.Spec[0].Name
	for _, size := range []uint32{32, 64} {
		if size != addShader.Spec[0].Default {
			want = append(want, fmt.Sprintf("%s=%d", name, size))
		}
	}
	want = append([]string{""}, want...)
	if got := d.Variants(); !reflect.DeepEqual(got, map[string][]string{addShader.Name: want}) {
		t.Errorf("variants %q; want %q of %s", got, want, addShader.Name)
	}
}
