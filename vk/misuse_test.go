package vk

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
)

// Wrong use is an error that says what is wrong: never a panic, and never without end.
func TestMisuse(t *testing.T) {
	ctx, d, closed := context.Background(), openTest(t), openTest(t)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	only := func(_ any, err error) error { return err }
	buffer, freed := newTestBuffer(t, d, 4, Local), newTestBuffer(t, d, 4, Local)
	freed.Free()
	program := func(f func(*Program)) error {
		p := d.NewProgram("misuse")
		defer p.Free()
		f(p)
		return p.Build()
	}
	unbuilt, gone := d.NewProgram("unbuilt"), d.NewProgram("gone")
	gone.Free()
	type misuse struct {
		what string
		err  error
		want string
	}
	cases := []misuse{
		{"option of Open", only(Open(Index(0), nil)), "option 2 of 2 is nil"},
		{"option of Devices", only(Devices(nil)), "option 1 of 1 is nil"},
		{"no shader", program(func(p *Program) { p.Dispatch(Call{}) }), "no shader"},
		{"an empty shader", program(func(p *Program) { p.Dispatch(Call{Shader: &Shader{Name: "z"}, Groups: [3]uint32{1, 1, 1}}) }), "z"},
		{"no shader to compile", only(d.Compile(nil, nil, 0)), "no shader given"},
		{"an empty shader to compile", only(d.Compile(&Shader{}, nil, 0)), "kernel"},
		{"no module", only(d.Compile(&Shader{SPIRV: SPIRV(nil)}, nil, 0)), "kernel"},
		{"no code", only((&Shader{}).With("x", nil)), ""},
		{"copy of nothing", program(func(p *Program) { p.Copy(Range{}, Range{}) }), "no buffer given"},
		{"copy of what has no memory", program(func(p *Program) { p.Copy(Range{Err: ErrNotMapped}, buffer.All()) }), ErrNotMapped.Error()},
		{"all of nothing", program(func(p *Program) { p.Fill((*Buffer)(nil).All(), 0) }), "no buffer given"},
		{"no body", program(func(p *Program) { p.Repeat(2, nil, nil) }), "recording function is nil"},
		{"no iterations", program(func(p *Program) { p.Repeat(-1, nil, func() {}) }), "want at least 1"},
		{"unbuilt", only(unbuilt.Submit(ctx)), "call Build"},
		{"freed: run", gone.Run(ctx), ErrClosed.Error()},
		{"freed: profile", only(gone.Profile(ctx)), ErrClosed.Error()},
		{"freed: read", freed.Read(ctx, 0, make([]byte, 4)), ErrClosed.Error()},
		{"read before", buffer.Read(ctx, -5, make([]byte, 4)), "out of bounds"},
		{"write behind", buffer.Write(ctx, math.MaxInt64, make([]byte, 4)), "out of bounds"},
		{"a kind", only(d.NewBuffer(16, Kind(77))), "not a buffer kind"},
		{"room", d.Room("x", math.MaxUint64), "out of memory"},
		{"closed: buffer", only(closed.NewBuffer(16, Local)), ErrClosed.Error()},
		{"closed: program", closed.NewProgram("x").Build(), ErrClosed.Error()},
		{"closed: compile", only(closed.Compile(nil, nil, 0)), ErrClosed.Error()},
	}
	for _, n := range []int64{-1, 0, 1 << 60, math.MaxInt64, math.MinInt64} {
		cases = append(cases, misuse{"bytes", only(d.NewBuffer(n, Local)), ""})
	}
	for _, c := range cases {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v; want %q", c.what, c.err, c.want)
		}
	}
}

// A list of devices that has grown between its two calls is asked for again, one that has shrunk is shorter, and after an error there is none.
func TestPhysicalDevices(t *testing.T) {
	type answer struct {
		n uint32
		r Result
	}
	for what, c := range map[string]struct {
		answers []answer // of one call after the other; the last one again and again
		devices int
		result  Result
	}{
		"as counted":         {[]answer{{2, 0}, {2, 0}}, 2, resultSuccess},
		"grown":              {[]answer{{1, 0}, {1, resultIncomplete}, {2, 0}, {2, 0}}, 2, resultSuccess},
		"shrunk":             {[]answer{{2, 0}, {1, 0}}, 1, resultSuccess},
		"gone":               {[]answer{{1, 0}, {0, 0}}, 0, resultSuccess},
		"none":               {[]answer{{0, 0}}, 0, resultSuccess},
		"counting fails":     {[]answer{{0, -3}}, 0, -3},
		"listing fails":      {[]answer{{2, 0}, {2, -1}}, 0, resultNoHostMemory},
		"listed twice":       {[]answer{{1, 0}, {1, resultIncomplete}, {0, -3}}, 0, -3},
		"a driver that lies": {[]answer{{1, 0}, {7, 0}}, 1, resultSuccess},
		"growing for ever":   {[]answer{{1, 0}, {1, resultIncomplete}}, 0, resultIncomplete},
	} {
		answers := slices.Clone(c.answers)
		all, r := physicalDevices(func(n *uint32, list []vkPhysicalDevice) Result {
			a := answers[0]
			if len(answers) > 1 {
				answers = answers[1:]
			}
			*n = a.n
			return a.r
		})
		if len(all) != c.devices || r != c.result {
			t.Errorf("%s: %d devices, %v; want %d, %v", what, len(all), r, c.devices, c.result)
		}
	}
}
