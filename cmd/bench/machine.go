package bench

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Host is the machine that a device is in.
type Host struct {
	System      string `json:"system"`
	Processor   string `json:"processor"`
	Processors  int    `json:"processors"`             // that the process may use
	MemoryBytes uint64 `json:"memory_bytes,omitempty"` // 0: unknown
}

// ThisHost describes the machine. On systems other than Linux it knows little.
func ThisHost() Host {
	h := Host{Processors: runtime.NumCPU()}
	h.System = valueIn("/etc/os-release", "PRETTY_NAME=", runtime.GOOS+"/"+runtime.GOARCH)
	h.Processor = valueIn("/proc/cpuinfo", "model name\t: ", runtime.GOARCH)
	memory, _, _ := strings.Cut(strings.TrimSpace(valueIn("/proc/meminfo", "MemTotal:", "")), " ")
	kibibytes, _ := strconv.ParseUint(memory, 10, 64) // 0: not there
	h.MemoryBytes = kibibytes << 10
	return h
}

// valueIn is what follows the key at the beginning of a line of a file; without one it is otherwise.
func valueIn(file, key, otherwise string) string {
	text, _ := os.ReadFile(file) // not there on every system
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, key); ok {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return otherwise
}
