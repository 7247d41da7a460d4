package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/evorl/evorl/vk"
)

// The memory of a state is allocated at once; if it does not fit, nothing is allocated.
func TestAllocate(t *testing.T) {
	dev := testDevice(t)
	eng := New(dev)
	s := eng.NewState()
	a, b := s.Tensor("a", Float32, Members(3), Axis("x", 5)), s.Scratch("b", Uint32, Axis("x", 2))
	stack := s.Stack(Float32, []string{"c", "d"}, Axis("x", 7))
	if n := dev.Memory().Buffers; n != 0 {
		t.Errorf("%d buffers before Allocate", n)
	}
	for range 2 {
		if err := s.Allocate(); err != nil {
			t.Fatal(err)
		}
		if n := dev.Memory().Buffers; n != 3 {
			t.Errorf("%d buffers; want 3: a, b and the stack", n)
		}
	}
	// Tensors made later are allocated at their first use.
	later := s.Tensor("later", Float32, Axis("x", 2))
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*Tensor{a, b, stack[0], stack[1], later} {
		data, err := x.ReadBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range data {
			if v != 0 {
				t.Fatalf("%v is %v; want zeros", x, data)
			}
		}
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if m := dev.Memory(); m.Buffers != 0 || m.Used != 0 {
		t.Errorf("after Close: %d buffers, %d bytes", m.Buffers, m.Used)
	}
	if _, err := a.ReadFloat32(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("reading a tensor of a closed state: %v", err)
	}
}

func TestAllocateRefuses(t *testing.T) {
	dev := testDevice(t)
	limits := dev.Info().Limits
	for _, c := range []struct {
		name    string
		tensors func(s *State)
		need    uint64
		want    string
	}{
		{"more than there is", func(s *State) {
			for _, name := range []string{"a", "b", "c"} {
				s.Tensor(name, Float32, Members(1<<20), Axis("parameter", 1<<20))
			}
			s.Tensor("d", Float32, Members(1<<20), Axis("parameter", 1<<21))
		}, 5 << 42, "state of 4 tensors, the largest d F32[member 1048576, parameter 2097152], needs 20.0 TiB"},
		{"more than a kernel sees", func(s *State) {
			s.Tensor("a", Float32, Members(2))
			s.Tensor("b", Float32, Members(int(limits.MaxStorageRange/4)+1))
		}, limits.MaxStorageRange/4*4 + 4, "tensor b F32["},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(dev).NewState()
			defer s.Close()
			c.tensors(s)
			err := s.Allocate()
			var memory *vk.OutOfMemoryError
			if !errors.As(err, &memory) || memory.Need != c.need || memory.Have >= memory.Need || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want a *vk.OutOfMemoryError that needs %d bytes, with %q", err, c.need, c.want)
			}
			if again := s.Zero(t.Context()); again != err {
				t.Errorf("then %v", again)
			}
			if m := dev.Memory(); m.Buffers != 0 || m.Used != 0 {
				t.Errorf("%d buffers, %d bytes are allocated", m.Buffers, m.Used)
			}
		})
	}
}

// Tensors made after an allocation are counted together with those before it, as they belong to one run.
func TestAllocateRefusesMore(t *testing.T) {
	dev := testDevice(t)
	s := New(dev).NewState()
	defer s.Close()
	s.Tensor("a", Float32, Axis("x", 1<<18))
	if err := s.Allocate(); err != nil {
		t.Fatal(err)
	}
	s.Tensor("b", Float32, Members(1<<20), Axis("parameter", 1<<20))
	err := s.Allocate()
	var memory *vk.OutOfMemoryError
	if !errors.As(err, &memory) || memory.Need != 1<<42+1<<20 || memory.Have >= memory.Need || !strings.Contains(err.Error(), "a state of 2 tensors") {
		t.Errorf("error %v; want a *vk.OutOfMemoryError of both tensors, %d bytes", err, uint64(1<<42+1<<20))
	}
}

// A saved tensor made after Zero has no value, and programs that are recorded with it say so.
func TestTensorAfterZero(t *testing.T) {
	s := memberState(t)
	before := s.Tensor("before", Float32, Members(2))
	if err := s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := s.Sub("part").Tensor("after", Float32, Members(2))
	_, err := s.Engine().Record("copy", func(r *Recorder) { r.Copy(before, after) })
	if want := `"part/after" is made after State.Zero or Load`; err == nil || !strings.Contains(err.Error(), want) || err.Error() == s.Err().Error() {
		t.Errorf("recording: error %v; want where and %q", err, want)
	}
}
