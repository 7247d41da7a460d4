package wheel

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"fmt"
	"strconv"
	"strings"
)

// platform returns the platform tag of a program: the systems on which pip installs it, as the program itself says.
func platform(target string, program []byte) (string, error) {
	switch target {
	case "linux/amd64":
		return manylinux(program, elf.EM_X86_64, "x86_64")
	case "linux/arm64":
		return manylinux(program, elf.EM_AARCH64, "aarch64")
	case "windows/amd64":
		return "win_amd64", nil
	case "darwin/arm64":
		return macOS(program)
	}
	return "", fmt.Errorf("no tag is known; want linux/amd64, linux/arm64, windows/amd64 or darwin/arm64")
}

// oldestGlibc is the second number of the oldest glibc, 2.17, for which pip knows tags of the form manylinux_2_17 (PEP 600).
const oldestGlibc = 17

// manylinux returns the tag of a program that needs the newest glibc of those whose functions it imports.
func manylinux(program []byte, machine elf.Machine, architecture string) (string, error) {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", err
	}
	if f.Machine != machine {
		return "", fmt.Errorf("the program is for %v; want %v", f.Machine, machine)
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return "", err
	}
	newest := oldestGlibc
	for _, s := range symbols {
		rest, ok := strings.CutPrefix(s.Version, "GLIBC_2.")
		if !ok {
			continue
		}
		minor, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(minor); err == nil {
			newest = max(newest, n)
		}
	}
	return fmt.Sprintf("manylinux_2_%d_%s", newest, architecture), nil
}

// buildVersion is the number of the load command LC_BUILD_VERSION.
const buildVersion = 0x32

// macOS returns the tag of a program for the oldest macOS that it says it runs on.
func macOS(program []byte) (string, error) {
	f, err := macho.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", err
	}
	if f.Cpu != macho.CpuArm64 {
		return "", fmt.Errorf("the program is for %v; want %v", f.Cpu, macho.CpuArm64)
	}
	for _, l := range f.Loads {
		if raw := l.Raw(); len(raw) >= 16 && f.ByteOrder.Uint32(raw) == buildVersion {
			version := f.ByteOrder.Uint32(raw[12:]) // after command, size and platform: major << 16 | minor << 8 | patch
			major, minor := version>>16, version>>8&0xff
			if major >= 11 {
				minor = 0 // pip compares the first number alone from macOS 11 on
			}
			return fmt.Sprintf("macosx_%d_%d_arm64", major, minor), nil
		}
	}
	return "", fmt.Errorf("the program does not say which macOS it is for")
}
