package sweep

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evorl/evorl/internal/catalog"
	"github.com/evorl/evorl/internal/records"
)

// Batch is a run of trials that differ only in hyperparameters of members, which costs far less than one run each: trial after trial, with the
// repetitions of each together. In the next rung of successive halving, the members of trials that continue form a smaller run, which begins with
// their state.
type Batch struct {
	Folder string
	Trials []Trial
	Names  map[string]string // hyperparameters of members that are tried, by their keys
	Seeds  int               // repetitions of each trial
	From   *Batch            // the run of the rung before, if it had more trials
	Begun  int               // iterations of that run
}

// Batches divides the trials of a sweep into batches, with their runs in a folder.
func (c Config) Batches(trials []Trial, names map[string]string, folder string) (all []*Batch) {
	at := map[string]int{} // the batch to which the next trial with the same other settings belongs
	most := max(1, c.Batch/c.Seeds)
	for _, t := range trials {
		other := fmt.Sprint(t.Others(names))
		i, ok := at[other]
		if !ok || len(all[i].Trials) == most {
			i = len(all)
			all, at[other] = append(all, &Batch{Names: names, Seeds: c.Seeds}), i
		}
		all[i].Trials = append(all[i].Trials, t)
	}
	for i, b := range all {
		b.Folder = filepath.Join(folder, fmt.Sprintf("batch-%0*d", len(fmt.Sprint(len(all)-1)), i))
	}
	return all
}

// rungMark is what the number of a rung follows in the name of a run's folder.
const rungMark = "-rung-"

// Narrow returns the batch of its trials that are alive in a rung, counted from 0, which begins after the given number of iterations: b itself
// if all are, nil if none is.
func (b *Batch) Narrow(alive []Trial, rung, begun int) *Batch {
	var trials []Trial
	for _, t := range b.Trials {
		if contains(alive, t) {
			trials = append(trials, t)
		}
	}
	switch len(trials) {
	case 0:
		return nil
	case len(b.Trials):
		return b
	}
	root, _, _ := strings.Cut(filepath.Base(b.Folder), rungMark)
	folder := filepath.Join(filepath.Dir(b.Folder), fmt.Sprint(root, rungMark, rung))
	return &Batch{Folder: folder, Trials: trials, Names: b.Names, Seeds: b.Seeds, From: b, Begun: begun}
}

func contains(trials []Trial, t Trial) bool {
	return slices.ContainsFunc(trials, func(of Trial) bool { return of.Number == t.Number })
}

// Settings returns the settings of the run, KEY=VALUE. membersKey is the key of the number of members.
func (b *Batch) Settings(membersKey string) (out []string) {
	for _, set := range b.Trials[0].Others(b.Names) {
		out = append(out, set.Key+"="+set.Value)
	}
	out = append(out, fmt.Sprintf("%s=%d", membersKey, b.Members()))
	for i, set := range b.Trials[0].Settings {
		if b.Names[set.Key] == "" {
			continue
		}
		var values []string
		for _, t := range b.Trials {
			for range b.Seeds {
				values = append(values, t.Settings[i].Value)
			}
		}
		out = append(out, fmt.Sprintf("%s.values.%s=[%s]", catalog.VarySection, b.Names[set.Key], strings.Join(values, ", ")))
	}
	return out
}

// Members returns the number of members of the run.
func (b *Batch) Members() int { return len(b.Trials) * b.Seeds }

// Scores returns the newest score of each member up to an iteration: from the run of the rung before, if no episode has ended since. Members without one
// are left out.
func (b *Batch) Scores(iteration int64, metric string) (map[int]float64, error) {
	of, err := records.Run{Path: b.Folder, Members: b.Members()}.MemberScores(iteration, metric)
	if err != nil || b.From == nil {
		return of, err
	}
	if of == nil {
		of = map[int]float64{}
	}
	before, err := b.From.Scores(iteration, metric)
	for member, from := range b.Continued() {
		x, had := before[from]
		if _, has := of[member]; had && !has {
			of[member] = x
		}
	}
	return of, err
}

// Continued returns which member of the rung before each member continues.
func (b *Batch) Continued() (members []int) {
	for i, t := range b.From.Trials {
		if contains(b.Trials, t) {
			for k := range b.Seeds {
				members = append(members, i*b.Seeds+k)
			}
		}
	}
	return members
}
