package bridge

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// band is what a world of testdata/together.py does.
type band struct {
	steps, episode, seed int
	left                 [bandAgents]bool
}

const bandAgents = 3

func (b *band) observe(agent int, action float32) []float32 {
	return []float32{float32(agent), float32(b.steps), float32(b.episode), float32(b.seed), action}
}

func (b *band) begin(seed int) { b.seed, b.episode, b.left = seed&0xFFFF, 0, [bandAgents]bool{} }

// Worlds of several agents are stepped as they are, at once and in turns: each agent gets its observations and rewards until it leaves, those that left are
// idle and observe 0, and when all have left they begin anew together; a time limit of evorl's ends the episode of all.
func TestTogether(t *testing.T) {
	const name = "pettingzoo:together"
	for _, c := range []struct{ worlds, processes, split int }{{1, 1, 1}, {5, 2, 5}, {4, 2, 2}, {3, 2, 2}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			cfg := testConfig(t)
			cfg.Processes = c.processes
			n := c.worlds * bandAgents
			st := openHalved(t, name, cfg, nil, n, c.split*bandAgents)
			s := newStep(n, 5, 1)
			seeds := make([]uint32, n)
			for i := range seeds {
				seeds[i] = uint32(i/bandAgents*5 + 1)
			}
			if err := st.Reset(t.Context(), nil, seeds, s.Obs); err != nil {
				t.Fatal(err)
			}
			bands := make([]band, c.worlds)
			equal := func(what string, i int, rows, want []float32) {
				t.Helper()
				if got := rows[i*5 : i*5+5]; !slices.Equal(got, want) {
					t.Fatalf("agent %d of world %d: %s %v; want %v", i%bandAgents, i/bandAgents, what, got, want)
				}
			}
			for i := range n {
				b := &bands[i/bandAgents]
				if i%bandAgents == 0 {
					b.begin(int(seeds[i]))
				}
				equal("first observation", i, s.Obs, b.observe(i%bandAgents, -1))
			}
			check := &checker{t: t, st: st, step: s}
			for check.steps = range 60 {
				clear(s.Terminated)
				clear(s.Truncated)
				for i := range n {
					b := &bands[i/bandAgents]
					s.Action[i], s.Idle[i], s.Last[i] = float32((check.steps+i)%5), b.left[i%bandAgents], check.steps%10 == 9
				}
				if err := check.take(); err != nil {
					t.Fatal(err)
				}
				for w := range bands {
					b := &bands[w]
					b.steps++
					b.episode++
					was := b.left
					for k := range bandAgents {
						i, length := w*bandAgents+k, 2+(b.seed+k)%3
						if was[k] {
							continue
						}
						ended := b.episode == length
						if s.Reward[i] != float32(b.steps)/16+float32(k) || s.Terminated[i] != (ended && length%2 == 0) || s.Truncated[i] != (ended && length%2 == 1) {
							t.Fatalf("step %d, agent %d of world %d: reward %v, terminated %t, truncated %t", check.steps, k, w, s.Reward[i], s.Terminated[i], s.Truncated[i])
						}
						if b.left[k] = s.Ended(i); b.left[k] {
							equal("last observation", i, s.Final, b.observe(k, s.Action[i]))
						} else {
							equal("observation", i, s.Obs, b.observe(k, s.Action[i]))
						}
					}
					over := b.left == [bandAgents]bool{true, true, true}
					if over {
						b.begin(b.seed + 1)
					}
					for k := range bandAgents {
						switch i := w*bandAgents + k; {
						case over:
							equal("first observation", i, s.Obs, b.observe(k, -1))
						case b.left[k]:
							equal("observation after it left", i, s.Obs, make([]float32, 5))
						}
					}
				}
			}
		})
	}
}

// The device acts in worlds of several agents as in environments of one: steps of agents that left are void, and all begin anew when the last one leaves. The
// bits do not depend on halves, and a world that fails is one failure.
func TestTogetherRollout(t *testing.T) {
	var want []byte
	for _, halves := range []int{1, 2} {
		cfg := testConfig(t)
		cfg.Halves, cfg.Processes = halves, 1
		ro, p := rolloutOf(t, "pettingzoo:together", cfg, nil, envs.RolloutConfig{Members: 1, Environments: 8, Horizon: 24}, 16)
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		obs, err := ro.Obs.ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done, err := ro.Done.ReadUint32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		finished, err := ro.Finished().ReadFloat32(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		const places = 8 * bandAgents
		left, void := make([]bool, places), 0
		for i, flags := range done {
			at := i % places
			if at%bandAgents == 0 && left[at] && left[at+1] && left[at+2] {
				left[at], left[at+1], left[at+2] = false, false, false
			}
			if got := envs.Done(flags)&envs.Void != 0; got != left[at] {
				t.Fatalf("step %d of place %d: void %t; want %t", i/places, at, got, left[at])
			}
			row := obs[5*i : 5*i+5]
			if left[at] {
				void++
				if !slices.Equal(row, make([]float32, 5)) {
					t.Fatalf("step %d of place %d, which has left: it observes %v", i/places, at, row)
				}
			} else if row[0] != float32(at%bandAgents) {
				t.Fatalf("step %d of place %d: it observes %v", i/places, at, row)
			}
			left[at] = left[at] || envs.Done(flags).Over()
		}
		if void == 0 || finished[0] == 0 {
			t.Errorf("%d void steps, and %g episodes of the first agent; want some", void, finished[0])
		}
		var got []byte
		for _, x := range []*engine.Tensor{ro.Obs, ro.NextObs, ro.Action, ro.Reward, ro.Done, ro.Finished()} {
			data, err := x.ReadBytes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, data...)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Error("other bits in halves")
		}
	}
}

// A world whose environment raises an exception is cut off for all its agents, counted once, and begins anew.
func TestTogetherFails(t *testing.T) {
	for _, halves := range []int{1, 2} {
		cfg, fails := testConfig(t), &Failures{}
		cfg.Halves, cfg.Restarts = halves, 1
		cfg.Arguments = fmt.Sprintf(`{"fail": 7, "once": %q}`, filepath.Join(cfg.Folder, "once"))
		_, p := rolloutOf(t, "pettingzoo:together", cfg, fails, envs.RolloutConfig{Members: 2, Environments: 2, Horizon: 24}, 16)
		for range 2 {
			if err := p.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n, last := fails.Count(); n != 1 || last.Environment > 3 || !strings.Contains(last.Error(), "RuntimeError: they quarrel") {
			t.Errorf("%d failures, the last %v; want one of a world that quarrels", n, last)
		}
	}
}
