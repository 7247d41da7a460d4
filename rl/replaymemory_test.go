package rl

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestReplayMemory: docs/off-policy.md has a table of the memory of a million transitions, which equals the size of the replay's tensors.
func TestReplayMemory(t *testing.T) {
	page, err := os.ReadFile("../docs/off-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	eng := engine.New(open(t))
	for _, name := range []string{"CartPole-v1", "Swimmer-v5", "Hopper-v5", "HalfCheetah-v5", "Ant-v5", "Humanoid-v5"} {
		env := lookup(t, name)
		line := fmt.Sprintf("| `%s` | %d, %d |", name, env.ObsSize(), env.ActionWords())
		for _, members := range []int{1, 10, 80} {
			bytes := replayBytes(t, eng, replayCase{
				name: name, horizon: 1, members: members, environments: 1, features: env.ObsSize(), actions: env.ActionWords(), rows: 1e6, batch: 1, steps: 1,
			}, 0)
			line += fmt.Sprintf(" %.3g |", float64(bytes)/1e9)
		}
		if !strings.Contains(string(page), "\n"+line+"\n") {
			t.Errorf("docs/off-policy.md lacks the line\n%s", line)
		}
	}
}

// replayBytes is the memory of a replay, without its batches; nothing is allocated.
func replayBytes(t *testing.T, eng *engine.Engine, c replayCase, frames int) (bytes uint64) {
	t.Helper()
	s := eng.NewState()
	defer s.Close()
	cfg := c.config()
	cfg.EndShare, cfg.Save = DefaultReplay().EndShare, true
	of := c.trajectory(s.Sub("t"))
	of.Space.Frames = frames
	if _, err := newReplay(s.Sub("replay"), engine.NewHyper(s, c.members), of, cfg, 1<<40); err != nil {
		t.Fatal(err)
	}
	for _, x := range s.Tensors() {
		if name := x.Name(); strings.HasPrefix(name, "replay/") && !strings.HasPrefix(name, "replay/batch/") {
			bytes += uint64(4 * x.Len())
		}
	}
	return bytes
}
