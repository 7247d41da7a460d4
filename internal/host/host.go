// Package host describes the machine on which a program runs.
package host

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Host describes a machine.
type Host struct {
	System      string `json:"system"`
	Processor   string `json:"processor"`
	Processors  int    `json:"processors"`             // available to the process
	MemoryBytes uint64 `json:"memory_bytes,omitempty"` // 0: unknown
}

// This describes the machine of this process. Outside Linux, most fields are unknown.
func This() Host {
	h := Host{Processors: runtime.NumCPU()}
	h.System = valueIn("/etc/os-release", "PRETTY_NAME=", runtime.GOOS+"/"+runtime.GOARCH)
	h.Processor = valueIn("/proc/cpuinfo", "model name\t: ", runtime.GOARCH)
	memory, _, _ := strings.Cut(strings.TrimSpace(valueIn("/proc/meminfo", "MemTotal:", "")), " ")
	kibibytes, _ := strconv.ParseUint(memory, 10, 64) // 0: not there
	h.MemoryBytes = kibibytes << 10
	return h
}

// valueIn returns the text after a key at the start of a line of a file; `otherwise` if there is none.
func valueIn(file, key, otherwise string) string {
	text, _ := os.ReadFile(file) // not there on every system
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, key); ok {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return otherwise
}
