package vk

import (
	"fmt"
	"reflect"
	"testing"
)

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
