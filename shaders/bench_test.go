package shaders

import "testing"

// BenchmarkSPIRV unpacks the largest module.
func BenchmarkSPIRV(b *testing.B) {
	for b.Loop() {
		code, err := SPIRV("envs/rollout.Humanoid-v5")
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(code)))
	}
}
