package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// target is a GPU family as RADV_FORCE_FAMILY names it, with the subgroup size that kernels are specialized for.
type target struct {
	family string
	width  uint32
}

// defaultTargets are two generations: GCN and RDNA 2, with waves of 64 lanes, RADV's default. navi21/32
// also approximates NVIDIA's GPUs (32 lanes, 255 registers). Mesa 22.3 compiles RDNA 3 (gfx1100) with a different compiler from the
// others, so its spills there are not meaningful.
const defaultTargets = "polaris10/64,navi21/64"

func (t target) String() string { return fmt.Sprintf("%s/%d", t.family, t.width) }

func parseTargets(names string) ([]target, error) {
	var all []target
	for name := range strings.SplitSeq(names, ",") {
		family, number, _ := strings.Cut(name, "/")
		width, err := strconv.ParseUint(number, 10, 32)
		if err != nil || family == "" || width != 32 && width != 64 {
			return nil, fmt.Errorf("target %q; want family/width with a width of 32 or 64, e.g. %s", name, defaultTargets)
		}
		all = append(all, target{family, uint32(width)})
	}
	return all, nil
}

var errNoRADV = errors.New("the driver RADV of Mesa is not installed (no radeon_icd*.json; Debian: apt install mesa-vulkan-drivers)")

// findICD returns the manifest of the system's RADV.
func findICD() (string, error) {
	var found []string
	for _, dir := range []string{"/usr/share", "/usr/local/share", "/etc"} {
		files, err := filepath.Glob(dir + "/vulkan/icd.d/radeon_icd*.json")
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
		return "", errNoRADV
	}
	return found[0], nil
}
