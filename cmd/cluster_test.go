package cmd

import (
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/rundir"
)

// Inspecting a shared run says what its devices have divided, as far as the run's session tells it.
func TestInspectWorkers(t *testing.T) {
	for divides, want := range map[string]string{
		rundir.Members: "0: GPU, has 2 slices of the members\n", rundir.Candidates: "0: GPU, 2 slices of candidates\n", "": "0: GPU, 2 slices\n",
	} {
		in := &inspection{}
		in.Provenance.Sessions = []rundir.Session{{Workers: []rundir.Worker{{Device: "GPU", Slices: 2}}, Divides: divides}}
		if got := in.text(); !strings.Contains(got, want) {
			t.Errorf("of %q\n%s; want %q in it", divides, got, want)
		}
	}
}

// The status has rates between two answers, and says who is slow, joins, or has left, and why.
func TestClusterText(t *testing.T) {
	at := time.Unix(1000, 0)
	of := func(name string, iteration, slices int, seconds float64) evorl.ClusterWorker {
		return evorl.ClusterWorker{Name: name, Device: "GPU", Iteration: iteration, Slices: slices, SliceTime: seconds, Received: 1 << 20, Sent: 3 << 20}
	}
	before := &evorl.ClusterStatus{Run: "run", Done: 100, At: at, Workers: []evorl.ClusterWorker{of("a", 3, 40, 0.1), of("b", 3, 20, 0.1)}}
	gone := of("e", 2, 5, 0.1)
	gone.Left, gone.Cause = true, "it gave no sign of life for 15s"
	const all = rundir.Candidates
	now := &evorl.ClusterStatus{Run: "run", Iterations: 50, Divides: all, Slices: 16, Done: 150, Again: 2, ToAll: 2 << 20, At: at.Add(2 * time.Second),
		Workers: []evorl.ClusterWorker{of("a", 4, 60, 0.1), of("b", 4, 28, 0.25), of("c", 4, 9, 0.11), of("d", -1, 0, 0), gone}}
	lines := strings.Split(clusterText(before, now), "\n")
	for i, want := range map[int][]string{
		0: {"run run: iteration 5 of 50, 3 workers of 5 known workers, 25.0 slices/s"},
		1: {"the candidates are in 16 slices, 150 done in all iterations, 2 of them twice, 2.0 MiB sent to all"},
		4: {"a ", "GPU", "60", "10.0", "0.1", "1.0 MiB", "3.0 MiB"},
		5: {"b ", "28", "4.0", "0.25", "slow"},
		7: {"d ", "joins"},
		8: {"e ", "left: it gave no sign of life for 15s"},
	} {
		for _, part := range want {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d is %q; want %q in it", i, lines[i], part)
			}
		}
	}
	if strings.Contains(lines[4]+lines[6], "slow") {
		t.Errorf("workers that are as fast as others are called slow:\n%s", strings.Join(lines, "\n"))
	}
	before.Divides, now.Divides = rundir.Members, rundir.Members
	now.Workers[0].Has = 7
	lines = strings.Split(clusterText(before, now), "\n")
	for i, want := range map[int][]string{1: {"the members are in 16 slices, 150 done in all iterations"}, 3: {"has slices"}, 4: {" 7 ", "10.0"}} {
		for _, part := range want {
			if !strings.Contains(lines[i], part) || strings.Contains(lines[i], "60") {
				t.Errorf("of members, line %d is %q; want %q in it", i, lines[i], part)
			}
		}
	}
}
