package sweep

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
)

// TestBatchScores: members of a rung of halving have their newest score up to its end, from the run of the rung before if no episode has ended
// since; a run of one member has it in another file.
func TestBatchScores(t *testing.T) {
	rung := func(from *Batch, members map[int64]map[string]float64, numbers ...int) *Batch {
		b := &Batch{Folder: filepath.Join(t.TempDir(), "run"), From: from, Seeds: 1}
		for _, n := range numbers {
			b.Trials = append(b.Trials, Trial{Number: n})
		}
		dir, err := rundir.Create(b.Folder)
		if err != nil {
			t.Fatal(err)
		}
		if err := dir.WriteConfig([]byte("workflow = \"snes\"\n")); err != nil {
			t.Fatal(err)
		}
		path := dir.Members()
		if len(numbers) == 1 {
			path = dir.Metrics()
		}
		f, _, _, err := metrics.ResumeFile(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		for iteration := range int64(10) {
			if values := members[iteration]; values != nil {
				if err := f.Append(metrics.Record{Iteration: iteration, Values: values}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := rung(nil, map[int64]map[string]float64{1: {"return/0": 1, "return/1": 2}, 2: {"return/1": 3}, 5: {"return/2": 9}}, 0, 1, 2, 3)
	second := rung(first, map[int64]map[string]float64{3: {"return/0": 4}}, 1, 3)
	other := rung(first, map[int64]map[string]float64{3: {"return/0": 4}}, 0, 1)
	last := rung(other, map[int64]map[string]float64{4: {"return/mean": 5}}, 1)
	quiet := rung(other, nil, 1)
	for name, c := range map[string]struct {
		of        *Batch
		iteration int64
		want      map[int]float64
	}{
		"first": {first, 2, map[int]float64{0: 1, 1: 3}}, "second": {second, 4, map[int]float64{0: 4}}, "other": {other, 4, map[int]float64{0: 4, 1: 3}},
		"last": {last, 4, map[int]float64{0: 5}}, "quiet": {quiet, 4, map[int]float64{0: 3}},
	} {
		if got, err := c.of.Scores(c.iteration, "return"); err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: scores %v, %v; want %v", name, got, err, c.want)
		}
	}
}
