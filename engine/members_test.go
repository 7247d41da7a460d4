package engine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"
)

// memberState is an empty state on the device that kernels are tested on.
func memberState(t *testing.T) *State {
	s := New(testDevice(t)).NewState()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// floats is a tensor with these values; all of them poison where there are none.
func floats(t *testing.T, s *State, name string, values []float32, dims ...Dim) *Tensor {
	t.Helper()
	x := s.Tensor(name, Float32, dims...)
	if values == nil {
		values = slices.Repeat([]float32{math.Float32frombits(poison)}, x.Len())
	}
	if err := x.WriteFloat32(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	return x
}

func integers(t *testing.T, s *State, name string, values []uint32, dims ...Dim) *Tensor {
	t.Helper()
	x := s.Tensor(name, Uint32, dims...)
	if values == nil {
		values = poisoned(x.Len())
	}
	if err := x.WriteUint32(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	return x
}

func readFloats(t *testing.T, x *Tensor) []float32 {
	t.Helper()
	values, err := x.ReadFloat32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func readIntegers(t *testing.T, x *Tensor) []uint32 {
	t.Helper()
	values, err := x.ReadUint32(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func runRecorded(t *testing.T, s *State, f func(*Recorder)) {
	t.Helper()
	p, err := s.Engine().Record(t.Name(), f)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func normals(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(rand.NormFloat64())
	}
	return values
}

func TestMean(t *testing.T) {
	const outer, members, inner = 5, 3, 37
	s := memberState(t)
	dims := []Dim{Time(outer), Members(members), Environments(inner)}
	values, weights := normals(outer*members*inner), make([]float32, outer*members*inner)
	for i := range weights {
		if i/inner%members != 1 { // the second member has no weight at all
			weights[i] = float32(rand.IntN(3))
		}
	}
	value, weight := floats(t, s, "value", values, dims...), floats(t, s, "weight", weights, dims...)
	plain, weighted := floats(t, s, "plain", nil, Members(members)), floats(t, s, "weighted", nil, Members(members))
	// One index of an axis need not begin where kernels may bind.
	part := floats(t, s, "part", nil, Members(members))
	one, ones := floats(t, s, "one", nil, Members(members)), floats(t, s, "ones", values[:2*members], Axis("split", 2), Members(members))
	runRecorded(t, s, func(r *Recorder) {
		Mean(r, plain, value, nil, 2)
		Mean(r, weighted, value, weight, 1)
		Mean(r, part, value.Index(1), nil, 1)
		Mean(r, one, ones.Index(1).View(Axis("split", 1), Members(members)), nil, 1)
	})
	for p := range members {
		var sum, all, first float64
		for i, v := range values {
			if i/inner%members == p {
				sum += float64(v)
				all += float64(weights[i])
				if i/inner/members == 1 {
					first += float64(v) / inner
				}
			}
		}
		// Weighted values are sums already: the weights only count.
		for name, c := range map[string][2]float64{
			"plain": {float64(readFloats(t, plain)[p]), 2 * sum / (outer * inner)}, "weighted": {float64(readFloats(t, weighted)[p]), sum / all},
			"part": {float64(readFloats(t, part)[p]), first}, "one": {float64(readFloats(t, one)[p]), float64(values[members+p])},
		} {
			if name == "weighted" && all == 0 {
				if !math.IsNaN(c[0]) {
					t.Errorf("the mean of member %d without weights is %v; want NaN", p, c[0])
				}
				continue
			}
			if !(math.Abs(c[0]-c[1]) <= 1e-5) {
				t.Errorf("%s mean of member %d is %v; want %v", name, p, c[0], c[1])
			}
		}
	}
}

func TestGather(t *testing.T) {
	s := memberState(t)
	source := []uint32{0, 3, 0, 3, 5, 5, 0}
	members := len(source)
	from := integers(t, s, "source", source, Members(members))
	shapes := [][]Dim{{Members(members)}, {Time(3), Members(members), Axis("feature", 67)}, {Members(members), Axis("feature", 4)}}
	var values [][]float32
	var tensors []*Tensor
	for i, dims := range shapes {
		values = append(values, normals(length(dims)))
		tensors = append(tensors, floats(t, s, fmt.Sprint("t", i), values[i], dims...))
	}
	runRecorded(t, s, func(r *Recorder) { Gather(r, from, tensors...) })
	for i, x := range tensors {
		outer, p, inner, _ := x.Split(MemberAxis)
		for j, got := range readFloats(t, x) {
			member := j / inner % p
			if want := values[i][(j/inner/p*p+int(source[member]))*inner+j%inner]; got != want {
				t.Fatalf("%v, outer %d: element %d is %v, want %v", x, outer, j, got, want)
			}
		}
	}
}

// fitnesses have ties, infinities, zeros of both signs and NaN.
func fitnesses(n int) []float32 {
	special := []float32{float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 0, float32(math.Copysign(0, -1))}
	values := make([]float32, n)
	for i := range values {
		if values[i] = float32(rand.IntN(n/2+1)) - float32(n/4); rand.IntN(5) == 0 {
			values[i] = special[rand.IntN(len(special))]
		}
	}
	return values
}

// Populations of more workgroups than the device allows, if each had the usual size, are put in order by larger ones.
func TestOrderOfMany(t *testing.T) {
	s := memberState(t)
	info := s.Engine().Device().Info()
	n := min(int(info.Limits.MaxGroups[0]), maxRanked/int(info.SubgroupSize)-1)*int(info.SubgroupSize) + 5
	want := rand.Perm(n)
	ranks := make([]uint32, n)
	for at, member := range want {
		ranks[member] = uint32(at)
	}
	rank, order := integers(t, s, "rank", ranks, Axis("candidate", n)), integers(t, s, "order", nil, Axis("candidate", n))
	runRecorded(t, s, func(r *Recorder) {
		size, groups := r.Invocations(n)
		if uint64(size)*uint64(groups) < uint64(n) || groups > info.Limits.MaxGroups[0] || size%r.Workgroup() != 0 {
			t.Errorf("%d invocations in %d workgroups of %d", n, groups, size)
		}
		if size, _ := r.Invocations(100); size != r.Workgroup() {
			t.Errorf("few invocations are in workgroups of %d", size)
		}
		Order(r, rank, order)
	})
	for at, member := range readIntegers(t, order) {
		if member != uint32(want[at]) {
			t.Fatalf("member %d of %d stands at %d; want %d", member, n, at, want[at])
		}
	}
}

// Ranks of populations that are compared directly and by blocks, the last of them not full; two populations at once.
func TestRank(t *testing.T) {
	for _, n := range []int{1, 2, 129, rankDirect, rankDirect + 1, 9*rankBlock + 17} {
		s := memberState(t)
		values := append(fitnesses(n), fitnesses(n)...)
		dims := []Dim{Members(2), Axis("candidate", n)}
		fitness := floats(t, s, "fitness", values, dims...)
		rank, order := integers(t, s, "rank", nil, dims...), integers(t, s, "order", nil, dims...)
		runRecorded(t, s, func(r *Recorder) {
			Rank(r, fitness, rank)
			Order(r, rank, order)
		})
		allRanks, allMembers := readIntegers(t, rank), readIntegers(t, order)
		for first := 0; first < 2*n; first += n {
			values, ranks, members := values[first:first+n], allRanks[first:first+n], allMembers[first:first+n]
			want := make([]int, n)
			for i := range want {
				want[i] = i
			}
			sort.SliceStable(want, func(i, j int) bool {
				a, b := float64(values[want[i]]), float64(values[want[j]])
				return a > b || math.IsNaN(b) && !math.IsNaN(a)
			})
			for i, p := range want {
				if ranks[p] != uint32(i) || members[i] != uint32(p) {
					t.Fatalf("of %d members, %d (fitness %v) has rank %d, and %d stands at %d; want rank %d", n, p, values[p], ranks[p], members[i], i, i)
				}
			}
		}
	}
}

// Metrics of a step stay readable for as many steps as the ring has slots, and are refused afterwards.
func TestMetricsRing(t *testing.T) {
	const members = 5
	s := memberState(t)
	clock := NewClock(s)
	m := NewMetrics(s, members, 3)
	a, b := m.Row("a"), m.Row("b")
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	step, err := s.Engine().Record("step", func(r *Recorder) {
		m.Record(r, clock)
		clock.Tick(r, 1, 7)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer step.Free()
	var written [][2][]float32
	for i := range 2*ringSlots + 1 {
		written = append(written, [2][]float32{normals(members), normals(members)})
		for k, row := range []*Tensor{a, b} {
			if err := row.WriteFloat32(t.Context(), written[i][k]); err != nil {
				t.Fatal(err)
			}
		}
		if err := step.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for back := range i + 1 {
			got, err := m.Read(i - back)
			if back >= ringSlots {
				if err == nil {
					t.Fatalf("after iteration %d the metrics of iteration %d were still read", i, i-back)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := written[i-back]; !slices.Equal(got["a"], want[0]) || !slices.Equal(got["b"], want[1]) {
				t.Fatalf("iteration %d: %v, want %v", i-back, got, want)
			}
		}
	}
	if iterations, steps, err := clock.Read(t.Context()); err != nil || iterations != 2*ringSlots+1 || steps != 7*(2*ringSlots+1) {
		t.Errorf("the clock says %d iterations, %d steps, %v", iterations, steps, err)
	}
}

// Members may share the values of a scope's metrics; what is not written has none after Clear.
func TestMetricsSub(t *testing.T) {
	s := memberState(t)
	clock := NewClock(s)
	m := NewMetrics(s, 6, 3)
	own, pairs := m.Row("own"), m.Sub("pairs/", 2)
	shared := pairs.Row("shared")
	unwritten := pairs.Sub("never/", 3).Row("written")
	a, b := s.Sub("a").Tensor("six", Float32, Members(6)), s.Sub("b").Tensor("three", Float32, Members(3))
	from := normals(9)
	if err := errors.Join(s.Zero(t.Context()), a.WriteFloat32(t.Context(), from[:6]), b.WriteFloat32(t.Context(), from[6:])); err != nil {
		t.Fatal(err)
	}
	step, err := s.Engine().Record("step", func(r *Recorder) {
		m.Clear(r)
		r.Copy(own, a)
		r.Copy(shared, b)
		m.Record(r, clock)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer step.Free()
	if err := step.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := m.Read(0)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float32{from[6], from[6], from[7], from[7], from[8], from[8]}; !slices.Equal(got["own"], from[:6]) || !slices.Equal(got["pairs/shared"], want) {
		t.Errorf("metrics %v; want %v, shared %v", got, from[:6], want)
	}
	if never := got["pairs/never/written"]; unwritten.Len() != 2 || len(never) != 6 || never[5] == never[5] {
		t.Errorf("%d values, %v, of a row that is not written; want 2, NaN of each member", unwritten.Len(), never)
	}
	if again := pairs.Row("shared"); again.Range() != shared.Range() || len(m.Names()) != 3 {
		t.Errorf("metrics %v; want one row for each name", m.Names())
	}
	m.Sub("", 4)
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "groups of 4 of 6 members") {
		t.Errorf("error %v; want one of groups", err)
	}
}

// TestSizesDiffer: operations on tensors that do not fit each other are errors of the recording that name both.
// TestMetricsSplit: the values of adjacent members are metrics of their own, those that they share are one.
func TestMetricsSplit(t *testing.T) {
	eng := New(testDevice(t))
	s := eng.NewState()
	defer s.Close()
	m, clock := NewMetrics(s, 6, 4), NewClock(s)
	m.Split("", "second/")
	each, shared := m.Row("each"), m.Sub("", 2).Row("shared")
	if err := errors.Join(each.WriteFloat32(t.Context(), []float32{1, 2, 3, 4, 5, 6}), shared.WriteFloat32(t.Context(), []float32{7, 8, 9})); err != nil {
		t.Fatal(err)
	}
	p, err := eng.Record("metrics", func(r *Recorder) {
		m.Record(r, clock)
		clock.Tick(r, 1, 1)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := m.Read(0)
	want := map[string][]float32{"each": {1, 3, 5}, "second/each": {2, 4, 6}, "shared": {7, 8, 9}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("metrics %v, %v; want %v", got, err, want)
	}
	if names := m.Names(); !slices.Equal(names, []string{"each", "second/each", "shared"}) {
		t.Errorf("names %v", names)
	}
	m.Split("", "a/", "b/", "c/")
	if err := s.Err(); err == nil {
		t.Error("6 members are read as groups of 4")
	}
}

// TestAddSteps: environment steps are counted in 64 bits.
func TestAddSteps(t *testing.T) {
	eng := New(testDevice(t))
	s := eng.NewState()
	defer s.Close()
	m := NewMetrics(s, 1, 1)
	const steps = 5<<32 | 0xC0000001
	p, err := eng.Record("steps", func(r *Recorder) { m.AddSteps(r, steps) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	for run := range 5 {
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		words := read32(t, m.CountSteps())
		if got, want := uint64(words[0])|uint64(words[1])<<32, uint64(run+1)*steps; got != want {
			t.Errorf("%d steps are counted; want %d", got, want)
		}
	}
}

func TestSizesDiffer(t *testing.T) {
	s := New(testDevice(t)).NewState()
	defer s.Close()
	three, four := s.Tensor("three", Float32, Members(3)), s.Tensor("four", Float32, Members(4), Axis("x", 2))
	source, none := s.Tensor("source", Uint32, Members(3)), s.Tensor("none", Float32, Axis("x", 3))
	for want, record := range map[string]func(r *Recorder){
		"copying members of four F32[member 4, x 2] by their sources source U32[member 3]":           func(r *Recorder) { Gather(r, source, three, four) },
		"copying members of none F32[x 3] by":                                                        func(r *Recorder) { Gather(r, source, none) },
		"the mean of four F32[member 4, x 2], weighted by nothing, into three F32[member 3]; want 4": func(r *Recorder) { Mean(r, three, four, nil, 1) },
		"weighted by three F32[member 3], into": func(r *Recorder) {
			Mean(r, four.View(Members(8)), four, three, 1)
		},
		"copying three F32[member 3], of 3 elements, to four F32[member 4, x 2], of 8": func(r *Recorder) { r.Copy(four, three) },
		"the counts source U32[member 3] to four":                                      func(r *Recorder) { CopyCounts(r, four, source) },
	} {
		if _, err := s.Engine().Record("wrong", record); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q in it", err, want)
		}
	}
	s.Scratch("huge", Float32, Axis("a", 1<<31), Axis("b", 1<<31), Axis("c", 1<<31))
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "more than 2^56 elements") {
		t.Errorf("error %v", err)
	}
}

// TestRenew: copied members get the elements of another tensor, or zeros, and the others keep theirs; axes before the members', and sizes that are no
// multiple of a workgroup.
func TestRenew(t *testing.T) {
	for _, c := range []struct{ outer, members, inner int }{{1, 2, 1}, {3, 5, 7}, {1, 3, 1025}} {
		s := memberState(t)
		dims := []Dim{Axis("outer", c.outer), Members(c.members), Axis("inner", c.inner)}
		n := c.outer * c.members * c.inner
		source, words, others := make([]uint32, c.members), make([]uint32, n), make([]uint32, n)
		for i := range source {
			source[i] = uint32(i / 2 * 2)
		}
		for i := range words {
			words[i], others[i] = uint32(i)+1, 0x40000000+uint32(i)
		}
		of := integers(t, s, "source", source, Members(c.members))
		zeroed, given := integers(t, s, "zeroed", words, dims...), integers(t, s, "given", words, dims...)
		from := integers(t, s, "from", others, dims...)
		runRecorded(t, s, func(r *Recorder) {
			Renew(r, of, zeroed, nil)
			Renew(r, of, given, from)
		})
		zeros, values := readIntegers(t, zeroed), readIntegers(t, given)
		for i, w := range words {
			wantZero, want := w, w
			if i/c.inner%c.members%2 == 1 {
				wantZero, want = 0, others[i]
			}
			if zeros[i] != wantZero || values[i] != want {
				t.Fatalf("%+v: element %d is %#x and %#x; want %#x and %#x", c, i, zeros[i], values[i], wantZero, want)
			}
		}
	}
}

// TestTake: members become those of another tensor, unless their source is none; axes before the members', and sizes that are no multiples of a workgroup.
func TestTake(t *testing.T) {
	for _, c := range []struct{ outer, members, inner int }{{1, 2, 1}, {3, 5, 7}, {1, 3, 1025}} {
		s := memberState(t)
		dims := []Dim{Axis("outer", c.outer), Members(c.members), Axis("inner", c.inner)}
		n := c.outer * c.members * c.inner
		source, words, others := make([]uint32, c.members), make([]uint32, n), make([]uint32, n)
		for i := range source {
			source[i] = uint32(c.members - 1 - i)
		}
		source[1] = math.MaxUint32
		for i := range words {
			words[i], others[i] = uint32(i)+1, 0x40000000+uint32(i)
		}
		of, to, from := integers(t, s, "source", source, Members(c.members)), integers(t, s, "to", words, dims...), integers(t, s, "from", others, dims...)
		runRecorded(t, s, func(r *Recorder) { Take(r, of, to, from) })
		got := readIntegers(t, to)
		for i, want := range words {
			o, m, k := i/c.inner/c.members, i/c.inner%c.members, i%c.inner
			if m != 1 {
				want = others[(o*c.members+int(source[m]))*c.inner+k]
			}
			if got[i] != want {
				t.Fatalf("%+v: element %d is %#x; want %#x", c, i, got[i], want)
			}
		}
	}
}
