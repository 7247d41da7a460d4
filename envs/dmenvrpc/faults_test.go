//go:build unix

package dmenvrpc

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/bridge"
	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// faultWorlds is the number of environments of a fault run.
const faultWorlds = 16

// faultSum sums up what happened by a kind.
type faultSum struct {
	count, lost int
	recovery    []time.Duration
}

// faultRun steps the worlds of a server at which things go wrong.
type faultRun struct {
	t        *testing.T
	rng      *rand.Rand
	server   *faultServer
	st       *stepper
	s        *envs.Step
	worlds   []echoWorld
	lives    map[int]bool
	kind     string // of the last fault
	steps    int
	compared int
}

func newFaultRun(t *testing.T, seed uint64) *faultRun {
	failures = bridge.Failures{}
	r := &faultRun{t: t, rng: rand.New(rand.NewPCG(seed, 1)), server: beginFaultServer(t), lives: map[int]bool{}}
	cfg := testConfig()
	cfg.Timeout, cfg.StartTimeout, cfg.Restarts = faultTimeout, 20*time.Second, 1<<20
	r.st, r.s, r.worlds = open(t, Prefix+r.server.at, cfg, faultWorlds), newStep(faultWorlds), make([]echoWorld, faultWorlds)
	seeds := make([]uint32, faultWorlds)
	for i := range seeds {
		seeds[i] = uint32(7 * i)
	}
	if err := r.st.Reset(t.Context(), nil, seeds, r.s.Obs); err != nil {
		t.Fatal(err)
	}
	for i := range r.worlds {
		r.worlds[i] = echoWorld{id: int(r.s.Obs[i*echoSize+3]), seed: int(seeds[i])}
		r.worlds[i].advance(nil)
		r.lives[r.worlds[i].id] = true
		if got, want := r.st.row(r.s.Obs, i), r.worlds[i].row(r.worlds[i].seed); !slices.Equal(got, want) {
			t.Fatalf("environment %d begins with %v; want %v", i, got, want)
		}
	}
	return r
}

// step takes a step of all worlds, and returns the numbers of those that were lost, and how many of them lost their episode.
func (r *faultRun) step() (lost []int, episodes int) {
	s := r.s
	clear(s.Terminated)
	clear(s.Truncated)
	for i := range faultWorlds {
		s.Action[i], s.Last[i] = float32(r.rng.IntN(24)), r.rng.IntN(9) == 0
	}
	if err := r.st.Step(r.t.Context(), s); err != nil {
		r.t.Fatalf("step %d, %s: %v", r.steps, r.kind, err)
	}
	r.steps++
	for i := range faultWorlds {
		before := r.worlds[i]
		fails, cut := r.compare(i)
		if fails {
			lost = append(lost, before.id)
		}
		if cut {
			episodes++
		}
		r.compared++
	}
	return lost, episodes
}

// compare compares what the stepper says of environment i with what its world did, or with the beginning of another world.
func (r *faultRun) compare(i int) (fails, cut bool) {
	s, w := r.s, &r.worlds[i]
	before, seed := *w, w.seed
	reward, state := w.advance(numbersOf(int(s.Action[i])))
	terminated, truncated := state == pb.EnvironmentStateType_TERMINATED, state == pb.EnvironmentStateType_INTERRUPTED
	final := r.st.row(s.Final, i)
	switch {
	case s.Reward[i] == 0 && s.Truncated[i] && !s.Terminated[i] && slices.Equal(final, before.row(before.seed)):
		return r.anew(i), true
	case s.Reward[i] != float32(reward) || s.Terminated[i] != terminated || s.Truncated[i] != truncated:
		r.t.Fatalf("step %d, environment %d: reward %v, terminated %t, truncated %t, final %v; want %v, %v", r.steps, i,
			s.Reward[i], s.Terminated[i], s.Truncated[i], final, reward, state)
	case !s.Ended(i):
		if got, want := r.st.row(s.Obs, i), w.row(seed); !slices.Equal(got, want) {
			r.t.Fatalf("step %d, environment %d: %v; want %v", r.steps, i, got, want)
		}
		return false, false
	case !slices.Equal(final, w.row(seed)):
		r.t.Fatalf("step %d, environment %d ends with %v; want %v", r.steps, i, final, w.row(seed))
	}
	if w.running { // a time limit
		w.running = false
		w.seed++
	}
	w.advance(nil)
	if slices.Equal(r.st.row(s.Obs, i), w.row(w.seed)) {
		return false, false
	}
	return r.anew(i), false
}

// anew takes over a world that environment i has not had before.
func (r *faultRun) anew(i int) bool {
	got := r.st.row(r.s.Obs, i)
	w := echoWorld{id: int(got[3]), seed: 5}
	w.advance(nil)
	if want := w.row(5); r.lives[w.id] || !slices.Equal(got, want) {
		r.t.Fatalf("step %d, environment %d begins anew with %v; want %v of another world", r.steps, i, got, want)
	}
	r.lives[w.id], r.worlds[i] = true, w
	return true
}

// suffer lets something go wrong and steps until it is over.
func (r *faultRun) suffer(kind int, sum *faultSum) {
	k := &faultKinds[kind]
	r.kind = k.name
	before, _ := failures.Count()
	r.server.order(kind, 1+r.rng.IntN(3*faultWorlds))
	var hit *faultHit
	var lost []int
	episodes := 0
	for begin := r.steps; ; {
		of, cut := r.step()
		now := time.Now()
		lost, episodes = append(lost, of...), episodes+cut
		select {
		case at := <-r.server.hits:
			hit = &at
		default:
		}
		if len(of) > 0 && hit == nil {
			at := <-r.server.hits // it was there before
			hit = &at
		}
		if len(of) > 0 {
			sum.recovery = append(sum.recovery, now.Sub(hit.at))
		}
		if hit != nil && (len(lost) > 0 || k.says == "") {
			break
		}
		if r.steps-begin > 10_000 {
			r.t.Fatalf("%s: nothing has failed in %d steps", k.name, r.steps-begin)
		}
	}
	for range 3 { // what a server had answered before its end notices in the next step
		of, cut := r.step()
		lost, episodes = append(lost, of...), episodes+cut
	}
	sum.count++
	sum.lost += episodes
	n, last := failures.Count()
	switch want := min(len(k.says), 1); {
	case k.name == "stop" && n-before == 2 && gone(last): // of what it had answered before, which noticed the end of the process
	case n-before != want || want == 1 && !strings.Contains(last.Error(), k.says):
		r.t.Errorf("%s: %d failures are counted, the last one %v; want %d: %s", k.name, n-before, last, want, k.says)
	}
	switch want := min(len(k.says), 1); {
	case k.all && len(lost) != faultWorlds || !k.all && want == 1 && !slices.Equal(lost, []int{hit.world}) || want == 0 && len(lost) > 0:
		r.t.Errorf("%s: worlds %v are lost; the fault was in %d", k.name, lost, hit.world)
	}
}

// Steps go on whatever happens at a server: every observation, reward and end is one that a world made, what failed is cut off at what was observed last and
// joins a world that nobody had, and each failure is counted once and says what it was. EVORL_FAULT_RUNS is the number of faults (default: each kind once).
func TestFaults(t *testing.T) {
	n := len(faultKinds)
	if text := os.Getenv("EVORL_FAULT_RUNS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	r, sums := newFaultRun(t, 5), make([]faultSum, len(faultKinds))
	for done := 0; done < n && !t.Failed(); {
		for _, kind := range r.rng.Perm(len(faultKinds))[:min(n-done, len(faultKinds))] {
			r.suffer(kind, &sums[kind])
			done++
		}
	}
	t.Logf("%d steps, %d transitions compared, %d worlds", r.steps, r.compared, len(r.lives))
	for k := range faultKinds {
		if sums[k].count == 0 {
			continue
		}
		line := fmt.Sprintf("| %s | %d | %d |", faultKinds[k].name, sums[k].count, sums[k].lost)
		if times := sums[k].recovery; len(times) > 0 {
			slices.Sort(times)
			line += fmt.Sprintf(" %d | %d |", times[len(times)/2].Milliseconds(), times[len(times)-1].Milliseconds())
		}
		t.Log(line)
	}
}
