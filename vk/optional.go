package vk

import "slices"

// complete returns ranges with a stand-in for every optional binding that has none: a descriptor must be bound whether the kernel touches it or
// not. Stand-ins are parts of ranges that the call already accesses in the same way, so that they order it with no more of the program.
func (s *Shader) complete(ranges []Range) []Range {
	given := ranges
	for i, b := range s.Bindings {
		if !b.Optional || given[i] != (Range{}) {
			continue
		}
		if &ranges[0] == &given[0] {
			ranges = slices.Clone(given)
		}
		ranges[i] = s.standIn(given, b.Access)
	}
	return ranges
}

// standInBytes is the size of a stand-in: a texel of any format.
const standInBytes = 16

// standIn is the beginning of a range given for the same access, or else of one given for more or any.
func (s *Shader) standIn(given []Range, access Access) Range {
	for _, suits := range []func(Access) bool{
		func(a Access) bool { return a == access },
		func(a Access) bool { return a&access == access },
		func(Access) bool { return true },
	} {
		for i, b := range s.Bindings {
			if r := given[i]; r != (Range{}) && suits(b.Access) {
				return Range{r.Buffer, r.Offset, min(r.Size, standInBytes)}
			}
		}
	}
	return Range{}
}
