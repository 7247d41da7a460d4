package processor

import "testing"

// TestHalvedStores: drivers that store lane by lane, eight lanes, on processors whose upper halves wait.
func TestHalvedStores(t *testing.T) {
	const debian = "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)"
	for _, c := range []struct {
		waits  bool
		driver string
		lanes  uint32
		want   bool
	}{
		{true, debian, 8, true},
		{false, debian, 8, false},
		{true, debian, 16, false},
		{true, "llvmpipe Mesa 25.0.7 (LLVM 19.1.7)", 8, false},
		{true, debian + ", vector stores", 8, false},
		{true, "SwiftShader driver", 8, false},
	} {
		end := Assume(c.waits)
		if got := HalvedStores(c.driver, c.lanes); got != c.want {
			t.Errorf("upper halves wait: %v, %s, %d lanes: %v, want %v", c.waits, c.driver, c.lanes, got, c.want)
		}
		end()
	}
	if n := Cache(); n < 4<<10 || n > 4<<20 {
		t.Errorf("a first-level cache of %d bytes", n)
	}
}
