package nn

import (
	"fmt"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// BenchmarkRecord measures what a dispatch costs to record, from the fields of a kernel of average and of large size to the program's list.
func BenchmarkRecord(b *testing.B) {
	dev, err := vk.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer dev.Close()
	buffer, err := dev.NewBuffer(1<<12, vk.Local)
	if err != nil {
		b.Fatal(err)
	}
	defer buffer.Free()
	eng, x := engine.New(dev), buffer.All()
	const dispatches = 4096
	for name, call := range map[string]func(i uint32) vk.Call{
		"merge": func(i uint32) vk.Call {
			return normalizerMergeKernel{Sums: x, Moments: x, Normalizer: x, Members: i}.call(1, 1, 1)
		},
		"gemm": func(i uint32) vk.Call {
			return gemmKernel{A: x, B: x, C: x, M: i, N: 1, K: 1, AStride: 8, BStride: 8, CStride: 8, Alpha: 1, Rows: 4}.call(1, 1, 1)
		},
	} {
		for _, program := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/program=%v", name, program), func(b *testing.B) {
				for b.Loop() {
					if !program {
						for i := range uint32(dispatches) {
							sink = call(i)
						}
						continue
					}
					p, err := eng.Record(name, func(r *engine.Recorder) {
						for i := range uint32(dispatches) {
							r.Dispatch(call(i))
						}
					})
					if err != nil {
						b.Fatal(err)
					}
					p.Free()
				}
				b.ReportAllocs()
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*dispatches), "ns/dispatch")
			})
		}
	}
}

// sink keeps calls from being optimized away.
var sink vk.Call
