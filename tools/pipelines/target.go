package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// target is a GPU whose compiler runs without it, with the subgroup size that configurations see and kernels are specialized for.
type target struct {
	driver *driver
	family string // as the driver names it
	width  uint32
}

// driver is a Mesa driver that compiles without its hardware.
type driver struct {
	name     string
	manifest string // glob in the loader's folders
	family   string // the environment variable that names the GPU
	widths   []uint32
	shim     bool // it takes a library that imitates the kernel's interface
}

var (
	radv = &driver{name: "RADV", manifest: "radeon_icd*.json", family: "RADV_FORCE_FAMILY", widths: []uint32{32, 64}}
	anv  = &driver{name: "ANV", manifest: "intel_icd*.json", family: "INTEL_STUB_GPU_PLATFORM", widths: []uint32{8, 16, 32}, shim: true}
)

// defaultTargets are generations of AMD's GPUs, RDNA 2 and 3, Vega and GCN, and Intel's Tiger Lake. RADV's own choice is 64 lanes;
// navi21/32 also approximates NVIDIA's GPUs (32 lanes, 255 registers).
const defaultTargets = "navi21/32,navi21/64,gfx1100/32,vega10/64,polaris10/64,tgl/8"

func (t target) String() string { return fmt.Sprintf("%s/%d", t.family, t.width) }

func parseTargets(names string) ([]target, error) {
	var all []target
	for name := range strings.SplitSeq(names, ",") {
		family, number, _ := strings.Cut(name, "/")
		t := target{driver: radv, family: family}
		if family == "tgl" {
			t.driver = anv
		}
		width, err := strconv.ParseUint(number, 10, 32)
		t.width = uint32(width)
		if err != nil || family == "" || !slices.Contains(t.driver.widths, t.width) {
			return nil, fmt.Errorf("target %q; want family/width, a width of %s's %v, e.g. %s", name, t.driver.name, t.driver.widths, defaultTargets)
		}
		all = append(all, t)
	}
	return all, nil
}

var errNoDriver = errors.New("the driver is not installed")

// environment returns the variables of a process that compiles for the target, and needs no GPU.
func (t target) environment() ([]string, error) {
	icd, err := t.driver.icd()
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), t.driver.family+"="+t.family, "VK_DRIVER_FILES="+icd, "VK_ICD_FILENAMES="+icd, // the second for loaders before 1.3.207
		"VK_INSTANCE_LAYERS=", "EVORL_DEVICE=")
	if t.driver.shim {
		shim, err := shimFile()
		if err != nil {
			return nil, err
		}
		env = append(env, "LD_PRELOAD="+shim)
	}
	return env, nil
}

// icd returns the manifest of the system's driver.
func (d *driver) icd() (string, error) {
	var found []string
	for _, dir := range []string{"/usr/share", "/usr/local/share", "/etc"} {
		files, err := filepath.Glob(dir + "/vulkan/icd.d/" + d.manifest)
		if err != nil {
			return "", err
		}
		found = append(found, files...)
	}
	// If there are two, take the 64-bit one.
	if i := slices.IndexFunc(found, func(f string) bool { return strings.Contains(f, "64") }); i >= 0 {
		return found[i], nil
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%s of Mesa: %w (no %s; Debian: apt install mesa-vulkan-drivers)", d.name, errNoDriver, d.manifest)
	}
	return found[0], nil
}

// shimFile returns the library that tools/mesa.sh builds.
func shimFile() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	file := filepath.Join(cache, "evorl", "shim", "libintel_noop_drm_shim.so")
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("ANV without a GPU: %w (no %s; tools/mesa.sh shim %s)", errNoDriver, file, filepath.Dir(file))
	}
	return file, nil
}
