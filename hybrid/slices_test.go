package hybrid

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// sliced makes the workflow of a test in slices of two of five members.
type sliced struct {
	name  string
	build func(ctx context.Context, eng *engine.Engine, members int) (engine.Trainable, error)
	pbt   *PBTConfig // nil: the members are independent
	exact bool       // a resumed run ends with the same bits: its replay, if it has one, is saved
}

const slicedMembers = 5

func (k sliced) open(t *testing.T, devices, slice int) engine.Workflow {
	t.Helper()
	eng := engine.New(open(t), engine.Seed(7), engine.Beside(slices.Repeat([]*vk.Device{open(t)}, devices-1)...))
	s, err := NewSlices(t.Context(), eng, slicedMembers, slice, k.build)
	if err != nil {
		t.Fatal(err)
	}
	return k.over(t, s)
}

// over returns the population of a workflow, if the kind has one, and closes it at the test's end.
func (k sliced) over(t *testing.T, inner engine.Trainable) engine.Workflow {
	t.Helper()
	if k.pbt != nil {
		return made(t)(NewPBT(t.Context(), inner, *k.pbt))
	}
	t.Cleanup(func() {
		if err := inner.Close(); err != nil {
			t.Error(err)
		}
	})
	return inner
}

// often exchanges in every iteration.
func often(t *testing.T, agent any, exploit Exploit) *PBTConfig {
	t.Helper()
	cfg := early()
	cfg.Warmup, cfg.Interval, cfg.Top, cfg.Bottom, cfg.Exploit = 1, 1, 0.2, 0.6, exploit
	var err error
	if cfg.Search, err = DefaultSearch(agent); err != nil {
		t.Fatal(err)
	}
	return &cfg
}

// policies makes copies of policies alone.
func policies(cfg *PBTConfig) *PBTConfig {
	cfg.Inherit = PolicyOnly
	return cfg
}

// slicedPPO and slicedTD3 make agents of both sorts.
func slicedPPO(ctx context.Context, eng *engine.Engine, members int) (engine.Trainable, error) {
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		return nil, err
	}
	return rl.NewPPO(ctx, eng, env, small(members), network())
}

func slicedTD3(save bool) func(context.Context, *engine.Engine, int) (engine.Trainable, error) {
	return func(ctx context.Context, eng *engine.Engine, members int) (engine.Trainable, error) {
		env, err := envs.Lookup("Pendulum-v1")
		if err != nil {
			return nil, err
		}
		cfg, hidden, replay := rl.DefaultTD3(), rl.DefaultOffPolicyNetwork(), rl.DefaultReplay()
		cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.LearningStarts = members, 2, 4, 16
		hidden.Hidden, replay.Capacity, replay.Batch, replay.Save = []int{8}, 100, 8, save
		return rl.NewTD3(ctx, eng, env, cfg, rl.Network(hidden), rl.Replays(replay), rl.Environment(envs.Options{TimeLimit: 10}))
	}
}

// TestSlices: members in slices end with the same bits on one device, two and three, also if a run is resumed on another number of devices, and with a worker
// elsewhere.
func TestSlices(t *testing.T) {
	const iterations, kept = 5, 2
	for _, kind := range []sliced{
		{"pbt over ppo", slicedPPO, often(t, rl.DefaultPPO(), Truncation), true},
		{"pbt over td3", slicedTD3(true), often(t, rl.DefaultTD3(), TTest), true},
		{"pbt of the policies of td3 without replays", slicedTD3(false), policies(often(t, rl.DefaultTD3(), Truncation)), false},
	} {
		t.Run(kind.name, func(t *testing.T) {
			digest := func(w engine.Workflow, from int) string {
				t.Helper()
				steps(t, w, from, iterations)
				d, err := w.State().Digest(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			dir, want, again := t.TempDir(), "", ""
			for devices := 1; devices <= 3; devices++ {
				w := kind.open(t, devices, 2)
				initialized(t, w)
				steps(t, w, 0, kept)
				if devices == 2 {
					if _, err := w.State().Save(t.Context(), dir, kept); err != nil {
						t.Fatal(err)
					}
				}
				if got := digest(w, kept); want != "" && got != want {
					t.Errorf("%d devices end with %s; want %s, as one", devices, got, want)
				} else {
					want = got
				}
			}
			for _, devices := range []int{1, 3, 0} {
				var w engine.Workflow
				if devices > 0 {
					w = kind.open(t, devices, 2)
				} else { // and a worker elsewhere
					var c *crowd
					w, c = kind.assisted(t)
					c.join(immortal, true)
				}
				if err := w.State().Poison(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := w.State().Zero(t.Context()); err != nil {
					t.Fatal(err)
				}
				load(t, w, dir, kept)
				switch got := digest(w, kept); {
				case kind.exact && got != want:
					t.Errorf("a run of two devices that %d resume ends with %s; want %s, as without an interruption", devices, got, want)
				case again != "" && got != again:
					t.Errorf("a run of two devices that %d resume ends with %s; want %s, as by one", devices, got, again)
				default:
					again = got
				}
			}
		})
	}
}

// TestSlicesAreTheWhole: one slice of all members is the workflow without slices, bit by bit.
func TestSlicesAreTheWhole(t *testing.T) {
	for _, kind := range []sliced{
		{"pbt over ppo", slicedPPO, often(t, rl.DefaultPPO(), Truncation), true},
		{"pbt of the policies of td3", slicedTD3(true), policies(often(t, rl.DefaultTD3(), Truncation)), true},
	} {
		t.Run(kind.name, func(t *testing.T) { theWhole(t, kind) })
	}
}

func theWhole(t *testing.T, kind sliced) {
	t.Helper()
	inner, err := kind.build(t.Context(), engine.New(open(t), engine.Seed(7)), slicedMembers)
	if err != nil {
		t.Fatal(err)
	}
	var tensors [2]map[string][]byte
	for i, w := range []engine.Workflow{kind.over(t, inner), kind.open(t, 2, slicedMembers)} {
		initialized(t, w)
		steps(t, w, 0, 3)
		if err := w.State().Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		tensors[i] = bytesOf(t, w.State())
	}
	for name, want := range tensors[0] {
		if got, ok := tensors[1][name]; !ok || !bytes.Equal(got, want) {
			t.Errorf("tensor %q of one slice has %d bytes that differ from the %d without slices", name, len(got), len(want))
		}
	}
	if len(tensors[1]) != len(tensors[0]) {
		t.Errorf("%d tensors; want %d, as without slices", len(tensors[1]), len(tensors[0]))
	}
}

// bytesOf returns the bytes of all saved tensors.
func bytesOf(t *testing.T, s *engine.State) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, of := range s.Tensors() {
		data, err := of.ReadBytes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all[of.Name()] = data
	}
	return all
}

// TestSliceMoves: a member that becomes a copy has all of its source's elements, also of another slice, and the others keep theirs.
func TestSliceMoves(t *testing.T) {
	kind := sliced{"td3", slicedTD3(true), nil, true}
	w := kind.open(t, 3, 2).(*Slices)
	initialized(t, w)
	steps(t, w, 0, 2)
	before := bytesOf(t, w.State())
	sources := []uint32{0, 4, 2, 0, 4}
	inner, err := kind.build(t.Context(), engine.New(open(t)), slicedMembers)
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	var inherited []string
	for _, of := range inner.State().Inherited() {
		if !w.own(of.Name()) {
			inherited = append(inherited, of.Name())
		}
	}
	if err := w.move(t.Context(), inherited, sources); err != nil {
		t.Fatal(err)
	}
	after := bytesOf(t, w.State())
	for _, of := range w.State().Tensors() {
		name := of.Name()
		outer, _, _, ok := of.Split(engine.MemberAxis)
		if w.own(name) || !ok {
			continue
		}
		size := len(before[name]) / outer / slicedMembers
		for o := range outer {
			for to, from := range sources {
				if !slices.Contains(inherited, name) {
					from = uint32(to)
				}
				at := func(member int) int { return (o*slicedMembers + member) * size }
				if got, want := after[name][at(to):at(to+1)], before[name][at(int(from)):at(int(from)+1)]; !bytes.Equal(got, want) {
					t.Errorf("tensor %v, index %d: member %d does not have the elements of %d", of, o, to, from)
				}
			}
		}
	}
	if len(inherited) < 10 {
		t.Errorf("only %q are inherited", inherited)
	}
}
