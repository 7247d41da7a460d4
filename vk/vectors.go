package vk

import (
	"os"
	"path/filepath"
	"strings"
)

// separateCaches gives Mesa's software driver a cache for each width of vectors that LP_NATIVE_VECTOR_WIDTH asks for. It must run before
// the driver is loaded. The driver's cache knows compiled code by the kernel alone (lp_cs_get_ir_cache_key in Mesa 22.3 and later): with
// another width it would run code of the earlier one, whose subgroups are of another size than the driver reports. Where no cache can be
// made, nothing changes.
func separateCaches() {
	const folder = "MESA_SHADER_CACHE_DIR"
	width := os.Getenv("LP_NATIVE_VECTOR_WIDTH")
	if width == "" || strings.ContainsAny(width, `/\.`) {
		return
	}
	base := os.Getenv(folder)
	if base == "" {
		var err error
		if base, err = os.UserCacheDir(); err != nil {
			return
		}
	}
	own := "mesa-vectors-" + width
	if filepath.Base(base) == own { // of an earlier call, or of the process that started this one
		return
	}
	dir := filepath.Join(base, own)
	if os.MkdirAll(dir, 0o755) == nil {
		_ = os.Setenv(folder, dir) // the name is valid
	}
}
