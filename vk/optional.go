package vk

import "slices"

// complete replaces omitted optional bindings with stand-ins, since a descriptor must be bound even if the kernel does not use it.
// A stand-in is part of a range that the call already accesses in the same way, so that it adds no dependency.
func (s *Shader) complete(ranges []Range) []Range {
	all := ranges
	for i, b := range s.Bindings {
		if !b.Optional || all[i] != (Range{}) {
			continue
		}
		if &ranges[0] == &all[0] {
			ranges = slices.Clone(all)
		}
		ranges[i] = s.standIn(all, b.Access)
	}
	return ranges
}

// standInBytes is the size of a stand-in: one texel of any format.
const standInBytes = 16

// standIn returns the beginning of a range with the same access, or else with a wider one.
func (s *Shader) standIn(all []Range, access Access) Range {
	for _, suits := range []func(Access) bool{
		func(a Access) bool { return a == access },
		func(a Access) bool { return a&access == access },
		func(Access) bool { return true },
	} {
		for i, b := range s.Bindings {
			if r := all[i]; r != (Range{}) && suits(b.Access) {
				return r.Buffer.Range(r.Offset, min(r.Size, standInBytes))
			}
		}
	}
	return Range{}
}
