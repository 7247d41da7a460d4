package cmd

import (
	"fmt"
	"math"
	"path/filepath"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/internal/plot"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/hybrid"
)

// ratingMetric names the ratings of opponents in a figure's records.
const ratingMetric = "rating"

// drawRatings draws the ratings of the opponents in the pools of a run of self-play, over the time at which they entered, a line for each member. It ends
// with the learner's at the newest checkpoint. Ratings of different members' pools cannot be compared.
func drawRatings(known *evorl.Catalog, path string, o plot.Options, warn func(string, ...any)) (*plot.Figure, error) {
	cfg, err := evorl.Stored(path, evorl.Use(known))
	if err != nil {
		return nil, err
	}
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	var pools []hybrid.Pool
	var at int64
	if _, err = checkpoint.Newest(dir.Checkpoints(), func(c *checkpoint.Checkpoint) (err error) {
		at = c.Manifest.Step
		pools, err = hybrid.StoredPools(c)
		return err
	}); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if pools == nil {
		return nil, fmt.Errorf("%s: no pools in its newest checkpoint: want a run of self-play, or of pbt over self-play, not of %s", path, cfg.Run.Workflow)
	}
	times, err := iterationTimes(dir, warn)
	if err != nil {
		return nil, err
	}
	var series []plot.Series
	for m, pool := range pools {
		label := filepath.Base(filepath.Clean(path))
		if len(pools) > 1 {
			label = fmt.Sprintf("member %d", m)
		}
		if records := ratingRecords(pool, at, times); len(records) > 0 {
			series = append(series, plot.Series{Label: label, Runs: [][]metrics.Record{records}, Members: len(pools)})
		}
	}
	if len(series) == 0 {
		return nil, fmt.Errorf("%s: no games yet that would rate its opponents", path)
	}
	if o.Title == "" {
		o.Title = "Opponents of " + cfg.Run.Workflow + " on " + cfg.Run.Env
	}
	if o.YLabel == "" {
		o.YLabel = "Rating (Elo; the mean of a pool is 0)"
	}
	o.Metric, o.Band, o.Dots = ratingMetric, plot.NoBand, true
	return plot.Draw(series, o)
}

// ratingRecords returns a record for each rated opponent of a pool, when it entered, and one for the learner at iteration at.
func ratingRecords(pool hybrid.Pool, at int64, times map[int64]metrics.Record) (records []metrics.Record) {
	add := func(iteration int64, rating float64) {
		if record, ok := times[iteration]; ok && !math.IsNaN(rating) {
			record.Values = map[string]float64{ratingMetric: rating}
			records = append(records, record)
		}
	}
	for _, of := range pool.Opponents {
		add(int64(of.Entered), of.Rating)
	}
	add(at, pool.Learner)
	return records
}

// iterationTimes returns when iterations ended, by their number: a run's records, without their values, and the beginning. It warns of damaged lines.
func iterationTimes(dir *rundir.Dir, warn func(string, ...any)) (map[int64]metrics.Record, error) {
	records, bad, err := metrics.ReadFile(dir.Metrics())
	if err != nil {
		return nil, err
	}
	if bad != nil {
		warn("%v: left out", bad)
	}
	times := map[int64]metrics.Record{0: {}}
	for _, r := range records {
		r.Values = nil
		times[r.Iteration] = r
	}
	return times, nil
}
