package vk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRepeat: a block runs n times between the commands around it, and each iteration sees the results of the previous one.
func TestRepeat(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		const n, iterations = 100, 300
		a, b := newTestBuffer(t, d, n, Local), newTestBuffer(t, d, n, Readback)
		p := d.NewProgram("repeated")
		p.Dispatch(spinCall(a.All(), 1))
		p.Repeat(iterations, nil, func() {
			p.Dispatch(spinCall(a.All(), 3))
			p.Copy(b.All(), a.All())
			p.Dispatch(spinCall(b.All(), 2))
			p.Copy(a.All(), b.All())
		})
		p.Repeat(1, nil, func() {})
		p.Repeat(2, nil, func() { p.Dispatch(spinCall(a.All(), 1)) })
		p.Copy(b.All(), a.All())
		writeWords(t, a, make([]uint32, n))
		build(t, p)
		const want = 1 + 2*iterations + 2
		if s := p.Stats(); s.Commands != 8 || s.Dispatches != want || s.Barriers != 4*iterations+1+1+1 {
			t.Errorf("%+v; want 8 commands, %d dispatches, %d barriers", s, want, 4*iterations+3)
		}
		for run1 := range 3 {
			run(t, p)
			for i, x := range readWords(t, b) {
				if x != spin(0, 1664525, (run1+1)*(1+5*iterations+2)) {
					t.Fatalf("b[%d] = %d after run %d", i, x, run1)
				}
			}
		}
		if c := d.Counters(); c.Dispatches != 3*want {
			t.Errorf("%d dispatches; want %d", c.Dispatches, 3*want)
		}
	})
}

// nested is a block of a random program: commands, parts and other blocks, in order.
type nested struct {
	iterations int
	counter    int // index; -1: the block has none
	steps      []any
}

type (
	mixes struct{ counter, factor int } // mixes a counter into the history
	parts struct{}                      // ends a part
)

// randomNested returns a random block at a depth. counters belong to the blocks around it, next is the first free one.
func randomNested(dice *rand.Rand, depth int, counters []int, next *int) nested {
	n := nested{counter: -1, iterations: 1 + dice.IntN(4)}
	if depth == 0 {
		n.iterations = 1
	} else if dice.IntN(4) > 0 {
		n.counter = *next
		*next++
		counters = append(slices.Clone(counters), n.counter)
	}
	if dice.IntN(4) == 0 && depth > 0 {
		n.iterations = []int{90, 260}[dice.IntN(2)] / []int{1, 9, 40}[depth-1]
	}
	for range 1 + dice.IntN(4) {
		switch {
		case depth < 3 && dice.IntN(3) > 0:
			n.steps = append(n.steps, randomNested(dice, depth+1, counters, next))
		case depth > 0 && dice.IntN(3) == 0:
			n.steps = append(n.steps, parts{})
		default:
			m := mixes{-1, 1 + 2*dice.IntN(1000)}
			if len(counters) > 0 {
				m.counter = counters[dice.IntN(len(counters))]
			}
			n.steps = append(n.steps, m)
		}
	}
	return n
}

// run executes the block: h is the history, counts the counters.
func (n nested) run(h *uint32, counts []uint32, executed *int) {
	part := uint32(0)
	for range n.iterations {
		for _, s := range n.steps {
			if n.counter >= 0 {
				counts[n.counter] = part
			}
			switch s := s.(type) {
			case nested:
				s.run(h, counts, executed)
			case parts:
				part++
			case mixes:
				c := uint32(0)
				if s.counter >= 0 {
					c = 1013904223 * counts[s.counter]
				}
				*h = uint32(s.factor)**h + c + 1
				*executed++
			}
		}
		part++
	}
}

// TestRepeatNested: blocks in blocks, of any depth and length, run their commands in order, every command with the number that its
// block's counter has then, from 0 at every start of the block. Unrolled blocks are inside of others that are recorded once, and the reverse.
func TestRepeatNested(t *testing.T) {
	mix := &Shader{
		Name: "mix", SPIRV: SPIRV(mixSPIRV), PushBytes: 4,
		Bindings:  []Binding{{Name: "c", Index: 0, Access: Read}, {Name: "h", Index: 1, Access: ReadWrite}},
		LocalSize: [3]uint32{1, 1, 1}, LocalSizeSpec: [3]int32{-1, -1, -1},
	}
	dice := rand.New(rand.NewPCG(5, 6))
	d := openTest(t)
	apart := int64(max(d.Info().Limits.StorageAlignment, 4))
	table, zero, h := newTestBuffer(t, d, int(PlainCommands*apart/4), Local), newTestBuffer(t, d, 1, Local), newTestBuffer(t, d, 1, Local)
	words := make([]uint32, PlainCommands*apart/4)
	for i := range PlainCommands {
		words[int64(i)*apart/4] = 1013904223 * uint32(i) // what a step of spin adds with the factor 1
	}
	writeWords(t, table, words)
	writeWords(t, zero, []uint32{0})
	for cases := 0; cases < 12; {
		next := 0
		program := randomNested(dice, 0, nil, &next)
		h0, size := uint32(0), 0
		if program.run(&h0, make([]uint32, next), &size); size < 100 || size > 700 { // short ones prove little, long ones take long
			continue
		}
		cases++
		var counters []*Counter
		for range next {
			at := newTestBuffer(t, d, 1, Local)
			add := spinCall(at.All(), 1)
			add.Spec = []uint32{32, 1}
			counters = append(counters, &Counter{At: at.All(), Table: table.All(), Next: add})
		}
		p := d.NewProgram("nested")
		bodies := 0
		var record func(n nested)
		record = func(n nested) {
			bodies++
			for _, s := range n.steps {
				switch s := s.(type) {
				case parts:
					p.NextPart()
				case mixes:
					from := zero.All()
					if s.counter >= 0 {
						from = counters[s.counter].At
					}
					p.Dispatch(Call{
						Shader: mix, Ranges: []Range{from, h.All()}, Push: binary.NativeEndian.AppendUint32(nil, uint32(s.factor)), Groups: [3]uint32{1, 1, 1},
					})
				case nested:
					var c *Counter
					if s.counter >= 0 {
						c = counters[s.counter]
					}
					p.Repeat(s.iterations, c, func() { record(s) })
				}
			}
		}
		record(program)
		build(t, p)
		want, executed := uint32(7), 0
		writeWords(t, h, []uint32{want})
		for range 2 {
			counts := make([]uint32, next)
			executed = 0
			program.run(&want, counts, &executed)
			run(t, p)
			if got := readWords(t, h)[0]; got != want {
				t.Fatalf("history %d, want %d, of %+v", got, want, program)
			}
		}
		s := p.Stats()
		if s.Dispatches < executed || s.Barriers < executed-1 {
			t.Fatalf("%+v; want at least %d dispatches, each after a barrier", s, executed)
		}
		times, err := p.Profile(t.Context())
		calls := 0
		for _, k := range times {
			if k.Label == mix.Name {
				calls = k.Calls
			}
		}
		if err != nil || calls != executed {
			t.Fatalf("%d calls profiled, %v; want %d", calls, err, executed)
		}
		p.Free()
		for _, c := range counters {
			c.At.Buffer.Free()
		}
	}
}

// TestRepeatSlicing: a repeated block over the budget is split between iterations, or within an iteration that is
// longer than the budget. The results are the same.
func TestRepeatSlicing(t *testing.T) {
	for _, c := range []struct {
		name                   string
		steps, ops, iterations int
		budget                 time.Duration
		least, most            int // submissions
	}{{"between iterations", 2_000, 2, 200, 20 * time.Millisecond, 4, 100}, {"inside of iterations", 6_000, 8, 40, time.Microsecond, 320, 321}} {
		t.Run(c.name, func(t *testing.T) {
			d := openTest(t, SliceBudget(c.budget))
			x := newTestBuffer(t, d, 160, Local)
			writeWords(t, x, make([]uint32, 160))
			p := d.NewProgram("sliced")
			p.Dispatch(spinCall(x.All(), 1))
			p.Repeat(c.iterations, nil, func() {
				for range c.ops {
					p.Dispatch(spinCall(x.All(), c.steps))
				}
			})
			build(t, p)
			if n, want := p.Stats().Submissions, 1+c.iterations; n != want { // iterations may be long

				t.Errorf("%d submissions before the first run; want %d", n, want)
			}
			const runs = 3
			for range runs {
				run(t, p)
			}
			if n := p.Stats().Submissions; n < c.least || n > c.most {
				t.Errorf("%d submissions a run; want %d to %d", n, c.least, c.most)
			}
			if got, want := readWords(t, x)[7], spin(0, 1664525, runs*(1+c.ops*c.iterations*c.steps)); got != want {
				t.Errorf("x = %d, want %d", got, want)
			}
			times, err := p.Profile(context.Background())
			if err != nil || len(times) != 1 || times[0].Calls != 1+c.ops*c.iterations {
				t.Errorf("profile %+v, %v; want %d calls", times, err, 1+c.ops*c.iterations)
			}
		})
	}
}

// TestPlan: for any times, the submissions hold every op of every iteration in order. More than one iteration or piece is listed only within the budget.
func TestPlan(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var times []time.Duration
		var random func(depth int) ([]block, []int)
		random = func(depth int) (blocks []block, want []int) {
			for range dice.IntN(4) {
				b := block{from: len(times), iterations: 1}
				if dice.IntN(2) == 0 {
					b.iterations = 1 + dice.IntN([]int{700, 20, 5}[depth])
				}
				var ops []int
				if depth < 2 && dice.IntN(3) == 0 {
					b.inner, ops = random(depth + 1)
				}
				for len(b.inner) == 0 && len(ops) < 1+dice.IntN(5) {
					ops = append(ops, len(times))
					times = append(times, time.Duration(dice.IntN(3)*dice.IntN(30)))
				}
				b.to = len(times)
				blocks = append(blocks, b)
				for range b.iterations {
					want = append(want, ops...)
				}
			}
			return blocks, want
		}
		blocks, want := random(0)
		const budget = 50
		p := newPlan(blocks, times, budget, true)
		var got []int
		count := 0
		err := each(p.groups, func(s *submission) error {
			count++
			listed, spent := 0, time.Duration(0)
			for _, e := range s.entries {
				for range e.iterations {
					listed++
					for i := p.pieces[e.piece].from; i < p.pieces[e.piece].to; i++ {
						got, spent = append(got, i), spent+times[i]
					}
				}
			}
			if listed > maxListed || listed > 1 && spent > budget {
				return fmt.Errorf("a submission lists %d command buffers of %d ns in all", listed, spent)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%v of %v: %v", blocks, times, err)
		}
		if !slices.Equal(got, want) || count != p.count() {
			t.Fatalf("%v of %v: %d submissions, counted %d, of ops %v", blocks, times, count, p.count(), got)
		}
	}
}

// TestRepeatBounded: a block of a billion iterations is recorded and sent in bounded memory, and ends soon after its context is done.
func TestRepeatBounded(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		x := newTestBuffer(t, d, 8, Local)
		p := d.NewProgram("endless")
		p.Repeat(1<<30, nil, func() { p.Dispatch(spinCall(x.All(), 1)) })
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		build(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		if err := p.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v; want the context's", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it ended after %v", took)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
			t.Errorf("%d bytes allocated on the host", grown)
		}
		if n := d.Counters().Submissions; n == 0 || n > 1<<20 {
			t.Errorf("%d submissions in 0.3 s", n)
		}
		short := d.NewProgram("short")
		short.Fill(x.All(), 3)
		build(t, short)
		run(t, short) // the device still works
		if got := readWords(t, x)[0]; got != 3 {
			t.Errorf("x = %d; want 3", got)
		}
	})
}

// TestRepeatDeadline: Submit of a long block ends at its deadline, and the device soon after, also in the first run, whose time is not known.
func TestRepeatDeadline(t *testing.T) {
	d := openTest(t)
	x := newTestBuffer(t, d, slowWords, Local)
	warm := spinProgram(t, d, "warm", x, 1)
	run(t, warm)
	p := d.NewProgram("long")
	p.Repeat(1000, nil, func() { // of some minutes
		for range 4 {
			p.Dispatch(spinCall(x.All(), slowSteps(d)/4))
		}
	})
	build(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := p.Submit(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v; want the context's", err)
	}
	run(t, warm) // waits for what was submitted
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the device is busy for %v", took)
	}
}

func TestRepeatErrors(t *testing.T) {
	d := openTest(t)
	x, y := newTestBuffer(t, d, 8, Local), newTestBuffer(t, d, 8, Local)
	for want, record := range map[string]func(p *Program){
		"copy writes the block's counter": func(p *Program) { p.Repeat(2, &Counter{At: x.All()}, func() { p.Copy(x.All(), y.All()) }) },
		"0 iterations; want at least 1":   func(p *Program) { p.Repeat(0, nil, func() {}) },
		"fill writes the block's counter": func(p *Program) { // one counter for two levels
			p.Repeat(2, &Counter{At: x.All()}, func() {
				p.Repeat(PlainCommands+1, &Counter{At: x.All(), Next: spinCall(x.All(), 1)}, func() { p.Copy(y.All(), x.All()) })
			})
		},
		"outside a repeated block": func(p *Program) { p.Repeat(2, nil, func() { p.Fill(x.All(), 0) }); p.NextPart() },
	} {
		p := d.NewProgram("wrong")
		record(p)
		if err := p.Build(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}
