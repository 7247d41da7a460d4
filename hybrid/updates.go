package hybrid

import (
	"context"
	"errors"
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// Count selects the environment steps that determine the number of updates of an iteration (B. Zheng et al., 2025,
// section 5.2.2).
type Count uint32

const (
	// Fixed: updates follow from the agent's settings, however long episodes are.
	Fixed Count = iota
	// PerIteration counts all steps of an iteration, including the population's: CEM-RL, and EvoRL's ERL by steps.
	PerIteration
	// PerRun counts all steps so far: the original ERL (S. Khadka, K. Tumer, 2018).
	PerRun
)

var countNames = []string{"fixed", "iteration", "run"}

// UnmarshalText parses a name: fixed, iteration or run.
func (c *Count) UnmarshalText(text []byte) error {
	return config.UnmarshalName(c, "count", countNames, text)
}

// MarshalText returns the name.
func (c Count) MarshalText() ([]byte, error) { return config.MarshalName(c, "count", countNames) }

// stepUpdates makes updates of agents in a number that follows from the counted steps (the mean over a group). The device
// counts the steps, and the host reads them, since it chooses how often programs are submitted.
type stepUpdates struct {
	agents *rl.OffPolicy
	by     Count
	groups int
	steps  *engine.Tensor // [2, 2] u32: environment steps at the start and end of the counted interval, low and high words
	number *engine.Tensor // [1] u32: index of the update in the iteration

	programs [][stepUpdatePrograms]*engine.Program // of each pass: of stepUpdateBlocks blocks, half as many, and so on to one
}

// stepUpdateBlocks is the largest number of blocks per submission. Any remainder is a sum of its halves.
const (
	stepUpdatePrograms = 7
	stepUpdateBlocks   = 1 << (stepUpdatePrograms - 1)
)

func newStepUpdates(agents *rl.OffPolicy, by Count, groups int) *stepUpdates {
	s := agents.State().Sub("updates")
	return &stepUpdates{
		agents: agents, by: by, groups: groups, steps: s.Tensor("steps", engine.Uint32, engine.Axis("moment", 2), engine.Axis("word", 2)),
		programs: make([][stepUpdatePrograms]*engine.Program, len(agents.Passes())), number: s.Scratch("number", engine.Uint32, engine.Axis("count", 1)),
	}
}

// reset records setting the number of updates of the iteration to 0.
func (c *stepUpdates) reset(r *engine.Recorder) { r.Fill(c.number, 0) }

// begin records the start of the counted interval.
func (c *stepUpdates) begin(r *engine.Recorder) {
	r.Copy(c.steps.Index(0), c.agents.Metrics().CountSteps())
}

// end records the end of the counted interval.
func (c *stepUpdates) end(r *engine.Recorder) {
	r.Copy(c.steps.Index(1), c.agents.Metrics().CountSteps())
}

// next records that the counted interval is from the last call to here: the steps of the previous iteration.
func (c *stepUpdates) next(r *engine.Recorder) {
	r.Copy(c.steps.Index(0), c.steps.Index(1))
	c.end(r)
}

// record records the programs, once.
func (c *stepUpdates) record() (err error) {
	eng := c.agents.State().Engine()
	for k, pass := range c.agents.Passes() {
		for i := range c.programs[k] {
			if c.programs[k][i] != nil {
				continue
			}
			c.programs[k][i], err = eng.Record("updates", func(r *engine.Recorder) { c.agents.RecordBlocks(r, stepUpdateBlocks>>i, c.number, pass) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// build waits for the kernels.
func (c *stepUpdates) build() error {
	var errs []error
	for _, pass := range c.programs {
		for _, p := range pass {
			errs = append(errs, p.Build())
		}
	}
	return errors.Join(errs...)
}

// blocks returns the number of blocks that follows from the counted steps, rounded to nearest.
func (c *stepUpdates) blocks(ctx context.Context) (int, error) {
	words, err := c.steps.ReadUint32(ctx)
	if err != nil {
		return 0, err
	}
	first, last := uint64(words[0])|uint64(words[1])<<32, uint64(words[2])|uint64(words[3])<<32
	if c.by == PerRun {
		first = 0
	}
	return int(math.Round(float64(last-first) / float64(c.groups) * c.agents.UpdatesPerStep() / float64(c.agents.BlockSize()))), nil
}

// submit submits a number of blocks, in the fewest programs.
func (c *stepUpdates) submit(ctx context.Context, blocks int) error {
	for _, pass := range c.programs {
		left := blocks
		for i, p := range pass {
			for n := stepUpdateBlocks >> i; left >= n; left -= n {
				if _, err := p.Submit(ctx); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *stepUpdates) free() {
	if c != nil {
		for _, pass := range c.programs {
			for _, p := range pass {
				p.Free()
			}
		}
	}
}

// stages holds the programs of an iteration.
type stages struct {
	stepUpdates   *stepUpdates // nil: everything is in the first
	late          bool         // the updates follow from steps of earlier iterations
	first, second *engine.Program
}

// record records the programs, once: what comes before the updates, which includes them if their number is fixed, and
// what comes after.
func (s *stages) record(eng *engine.Engine, name string, before, after func(*engine.Recorder)) (err error) {
	if s.first != nil {
		return nil
	}
	if s.stepUpdates == nil {
		s.first, err = eng.Record(name, func(r *engine.Recorder) {
			before(r)
			after(r)
		})
		return err
	}
	if err := s.stepUpdates.record(); err != nil {
		return err
	}
	if s.second, err = eng.Record(name, after); err == nil {
		s.first, err = eng.Record(name, before)
	}
	return err
}

// build waits for the kernels.
func (s *stages) build() error {
	if s.stepUpdates == nil {
		return s.first.Build()
	}
	return errors.Join(s.first.Build(), s.stepUpdates.build(), s.second.Build())
}

// submit submits an iteration.
func (s *stages) submit(ctx context.Context) (*vk.Ticket, error) {
	if s.stepUpdates == nil {
		return s.first.Submit(ctx)
	}
	blocks, err := 0, error(nil)
	if s.late {
		blocks, err = s.stepUpdates.blocks(ctx)
	}
	if err == nil {
		_, err = s.first.Submit(ctx)
	}
	if err == nil && !s.late {
		blocks, err = s.stepUpdates.blocks(ctx)
	}
	if err == nil {
		err = s.stepUpdates.submit(ctx, blocks)
	}
	if err != nil {
		return nil, err
	}
	return s.second.Submit(ctx)
}

func (s *stages) free() {
	s.first.Free()
	s.second.Free()
}
