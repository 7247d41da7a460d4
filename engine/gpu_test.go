package engine

import "testing"

// TestWorkgroupsOfGPUs: kernels that reduce have workgroups of 256 invocations on GPUs and of one subgroup on software drivers. Elements are
// shared among as many workgroups as there are on GPUs, and few on software drivers; never among more than the device allows.
func TestWorkgroupsOfGPUs(t *testing.T) {
	s := memberState(t)
	info := s.Engine().Device().Info()
	const members, features = 2, 40003
	workgroup, shared := info.SubgroupSize, uint32(softwareGroups/members)
	if info.Type.GPU() {
		workgroup, shared = 256, (features+255)/256
	}
	values := make([]float32, members*features)
	for i := range values {
		values[i] = float32(i)
	}
	x := floats(t, s, "values", values, Members(members), Axis("feature", features))
	source := integers(t, s, "source", []uint32{1, 1}, Members(members))
	runRecorded(t, s, func(r *Recorder) {
		if w, g := r.Workgroup(), r.Share(members, features); w != workgroup || g != shared {
			t.Errorf("on a %v, workgroups of %d, and %d of them share %d elements; want %d and %d", info.Type, w, g, features, workgroup, shared)
		}
		if most := info.Limits.MaxGroups[0]; r.Share(1, 1<<40) > most || info.Type.GPU() && r.Share(1, 1<<40) != most {
			t.Errorf("%d workgroups share 2^40 elements; the device allows %d", r.Share(1, 1<<40), most)
		}
		Gather(r, source, x)
	})
	for i, v := range readFloats(t, x) {
		if want := float32(features + i%features); v != want {
			t.Fatalf("element %d is %v; want %v", i, v, want)
		}
	}
}
