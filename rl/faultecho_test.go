//go:build unix

package rl

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// faultSize is the number of elements that an environment of testdata/faults.py observes.
const faultSize = 6

// faultEcho is what is known of an environment of testdata/faults.py.
type faultEcho struct {
	row   [faultSize]float32 // observation to act on: process, life, steps, steps of the episode, seed, action before
	known bool
	anew  faultAnew
}

// faultAnew is whether an environment's next observation is the first one of a life.
type faultAnew uint8

const (
	faultGoesOn faultAnew = iota
	faultMayBegin
	faultBegins
)

// step takes a step.
func (e *faultEcho) step(action float32) (reward float32, done envs.Done) {
	reward = 0.5
	if int(action) == int(e.row[3])%3 {
		reward = 1
	}
	e.row[2]++
	e.row[3]++
	e.row[5] = action
	if length := 3 + int(e.row[4])%4; int(e.row[3]) == length {
		done = envs.Terminated << (length % 2)
	}
	return reward, done
}

// begin begins the next episode.
func (e *faultEcho) begin() {
	e.row[3], e.row[4], e.row[5] = 0, float32((int(e.row[4])+1)&0xFFFF), -1
}

// compare compares the transitions of an iteration, as the device has them, with what environments do.
func (r *faultRun) compare() {
	t := r.p.collector.Trajectory()
	read := func(x *engine.Tensor) []float32 {
		v, err := x.ReadFloat32(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		return v
	}
	obs, action, reward, next := read(t.Obs), read(t.Action), read(t.Reward), read(t.NextObs)
	done, err := t.Done.ReadUint32(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	sum := float32(0)
	for k := range reward { // [T, M, E]
		row := func(of []float32) []float32 { return of[k*faultSize : (k+1)*faultSize] }
		if r.observe(k%faultWorlds, row(obs)); !r.t.Failed() {
			r.transition(k%faultWorlds, action[k], reward[k], envs.Done(done[k]), row(next))
		}
		if sum += reward[k]; r.t.Failed() {
			r.t.Fatalf("iteration %d, step %d, environment %d", r.iteration-1, k/faultWorlds, k%faultWorlds)
		}
	}
	r.compared += len(reward)
	r.rewards = append(r.rewards, sum/float32(len(reward)))
}

// observe compares the observation that is acted on.
func (r *faultRun) observe(i int, obs []float32) {
	e := &r.echoes[i]
	if e.known && e.anew != faultBegins && slices.Equal(obs, e.row[:]) {
		e.anew = faultGoesOn
		return
	}
	life, begun := [2]float32{obs[0], obs[1]}, faultEcho{known: true, row: [faultSize]float32(obs)}
	if e.known && (e.anew == faultGoesOn || obs[0] != e.row[0]) || r.process(begun) == nil || r.lives[life] || obs[2] != 0 || obs[3] != 0 || obs[5] != -1 {
		r.t.Errorf("observation %v after %v (%d)", obs, *e, e.anew)
	}
	r.lives[life] = true
	*e = begun
}

// transition compares a transition, or takes note that the episode is lost.
func (r *faultRun) transition(i int, action, reward float32, done envs.Done, next []float32) {
	e := &r.echoes[i]
	of, before := r.process(*e), *e
	wantReward, wantDone := e.step(action)
	failing := of.kind != nil && of.kind.says != ""
	switch {
	case reward == 0 && done == envs.Truncated && slices.Equal(next, before.row[:]) && failing: // cut off at what was observed last
		e.anew = faultBegins
	case reward != wantReward || !slices.Equal(next, e.row[:]):
		r.t.Errorf("after %v action %v: reward %v, %v, done %d; want %v, %v, done %d", before.row, action, reward, next, done, wantReward, e.row, wantDone)
	case done == wantDone:
		if done != 0 {
			e.begin()
			if failing && of.kind.all {
				e.anew = faultMayBegin // its process failed afterwards
			}
		}
		return
	case wantDone == 0 && done == envs.Truncated && failing && of.kind.all: // its process failed afterwards
		e.anew = faultBegins
	default:
		r.t.Errorf("after %v action %v: done %d; want %d", before.row, action, done, wantDone)
	}
	of.lost = append(of.lost, before.row[1])
}

// The offsets of a process in the file that testdata/faults.py reads.
const (
	faultKindAt    = 0
	faultCountdown = 4
	faultPID       = 12
	faultHit       = 16
	faultFailed    = 24
	faultAgain     = 32
)

// put writes an element of a process: moments have eight bytes.
func (r *faultRun) put(first, at int, v uint64) {
	data := binary.LittleEndian.AppendUint64(nil, v)
	if at < faultFailed {
		data = data[:4]
	}
	if _, err := r.file.WriteAt(data, int64(64*first+at)); err != nil {
		r.t.Error(err)
	}
}

func (r *faultRun) get(first, at int) uint32 {
	var data [4]byte
	if _, err := r.file.ReadAt(data[:], int64(64*first+at)); err != nil {
		r.t.Error(err)
	}
	return binary.LittleEndian.Uint32(data[:])
}

// moment returns when something happened, in seconds since 1970; 0: it did not.
func (r *faultRun) moment(first, at int) float64 {
	var data [8]byte
	if _, err := r.file.ReadAt(data[:], int64(64*first+at)); err != nil {
		r.t.Error(err)
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(data[:]))
}

// signal sends a signal to a process.
func (r *faultRun) signal(first int, signal syscall.Signal) {
	r.put(first, faultFailed, math.Float64bits(float64(time.Now().UnixNano())/1e9))
	if err := syscall.Kill(int(r.get(first, faultPID)), signal); err != nil {
		r.t.Error(err)
	}
}

// alone checks that no process of the run is left, nor one that such a process began.
func (r *faultRun) alone() {
	text, err := os.ReadFile(filepath.Join(r.cfg.Folder, "pids"))
	if err != nil {
		r.t.Fatal(err)
	}
	groups := strings.Fields(string(text))
	var left []string
	for range 100 {
		all, err := exec.Command("ps", "-A", "-o", "pgid=,stat=,args=").Output()
		if err != nil {
			r.t.Fatal(err)
		}
		left = nil
		for line := range strings.Lines(string(all)) {
			if of := strings.Fields(line); len(of) > 1 && slices.Contains(groups, of[0]) && !strings.HasPrefix(of[1], "Z") {
				left = append(left, line)
			}
		}
		if left == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.t.Errorf("of %d processes there are left: %v", len(groups), left)
}
