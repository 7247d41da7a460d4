package vk_test

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"log"

	"github.com/evorl/evorl/vk"
)

//go:embed testdata/add.spv
var spirv []byte

// A kernel adds two vectors, and the result is copied to host-visible memory.
func Example() {
	device, err := vk.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	add := &vk.Shader{
		Name: "add", SPIRV: vk.SPIRV(spirv), PushBytes: 4,
		Bindings:      []vk.Binding{{Name: "a", Index: 0, Access: vk.Read}, {Name: "b", Index: 1, Access: vk.Read}, {Name: "c", Index: 2, Access: vk.Write}},
		Spec:          []vk.SpecConstant{{Name: "local_size_x", ID: 0, Default: 64}},
		LocalSizeSpec: [3]int32{0, -1, -1},
	}
	const n, bytes = 100, 400
	local, err := device.NewBuffer(3*512, vk.Local)
	if err != nil {
		log.Fatal(err)
	}
	host, err := device.NewBuffer(bytes, vk.Readback)
	if err != nil {
		log.Fatal(err)
	}
	a, b, c := local.Range(0, bytes), local.Range(512, bytes), local.Range(1024, bytes)

	p := device.NewProgram("add")
	p.Fill(a, 0x40000000) // 2.0
	p.Fill(b, 0x40400000) // 3.0
	p.Dispatch(vk.Call{Shader: add, Ranges: []vk.Range{a, b, c}, Push: binary.NativeEndian.AppendUint32(nil, n), Groups: [3]uint32{(n + 63) / 64, 1, 1}})
	p.Copy(host.All(), c)
	if err := p.Build(); err != nil {
		log.Fatal(err)
	}
	if err := p.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%#x, %d barriers\n", binary.NativeEndian.Uint32(host.Mapped()), p.Stats().Barriers)
	// Output: 0x40a00000, 2 barriers
}
