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

// Count is which environment steps the updates of an iteration follow from (B. Zheng et al., 2025, section 5.2.2).
type Count uint32

const (
	// Fixed updates are those of an agent's own settings, however long episodes are.
	Fixed Count = iota
	// PerIteration counts all steps of an iteration, those of the population too: those of CEM-RL, and of EvoRL's ERL by steps.
	PerIteration
	// PerRun counts all steps so far: those of the original ERL (S. Khadka, K. Tumer, 2018).
	PerRun
)

var countNames = []string{"fixed", "iteration", "run"}

// UnmarshalText reads what is counted by its name: fixed, iteration or run.
func (c *Count) UnmarshalText(text []byte) error {
	return config.UnmarshalName(c, "count", countNames, text)
}

// MarshalText writes its name.
func (c Count) MarshalText() ([]byte, error) { return config.MarshalName(c, "count", countNames) }

// counted makes updates of agents whose number follows from steps, of a group on average. The device counts the steps, and the host reads them: how often
// programs are submitted is its choice.
type counted struct {
	agents *rl.OffPolicy
	by     Count
	groups int
	steps  *engine.Tensor // [2, 2] u32: environment steps at the beginning and at the end of what is counted, low and high words
	number *engine.Tensor // [1] u32: of the update in the iteration
	many   *engine.Program
	one    *engine.Program
}

// countedBlocks are those of one submission.
const countedBlocks = 64

func newCounted(agents *rl.OffPolicy, by Count, groups int) *counted {
	s := agents.State().Sub("updates")
	return &counted{
		agents: agents, by: by, groups: groups, steps: s.Tensor("steps", engine.Uint32, engine.Axis("moment", 2), engine.Axis("word", 2)),
		number: s.Scratch("number", engine.Uint32, engine.Axis("count", 1)),
	}
}

// reset records that the iteration has made no update.
func (c *counted) reset(r *engine.Recorder) { r.Fill(c.number, 0) }

// begin records that the steps from here on count.
func (c *counted) begin(r *engine.Recorder) {
	r.Copy(c.steps.Index(0), c.agents.Metrics().CountSteps())
}

// end records that the steps up to here count.
func (c *counted) end(r *engine.Recorder) { r.Copy(c.steps.Index(1), c.agents.Metrics().CountSteps()) }

// next records that the steps since the last call count, and all that were taken until then; they are those of the iteration before.
func (c *counted) next(r *engine.Recorder) {
	r.Copy(c.steps.Index(0), c.steps.Index(1))
	c.end(r)
}

// record records the programs, once.
func (c *counted) record() (err error) {
	eng := c.agents.State().Engine()
	if c.one == nil {
		if c.many, err = eng.Record("updates", func(r *engine.Recorder) { c.agents.RecordBlocks(r, countedBlocks, c.number) }); err != nil {
			return err
		}
		c.one, err = eng.Record("updates", func(r *engine.Recorder) { c.agents.RecordBlocks(r, 1, c.number) })
	}
	return err
}

// blocks are those that the counted steps call for, the nearest number.
func (c *counted) blocks(ctx context.Context) (int, error) {
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

// submit submits so many blocks.
func (c *counted) submit(ctx context.Context, blocks int) error {
	for blocks > 0 {
		program, n := c.many, countedBlocks
		if blocks < n {
			program, n = c.one, 1
		}
		if _, err := program.Submit(ctx); err != nil {
			return err
		}
		blocks -= n
	}
	return nil
}

func (c *counted) free() {
	if c != nil {
		c.many.Free()
		c.one.Free()
	}
}

// stages are the programs of an iteration.
type stages struct {
	counted       *counted // nil: all is in the first
	late          bool     // the updates follow from steps before the iteration
	first, second *engine.Program
}

// record records the programs, once: what comes before the updates, which are in it where they are fixed, and what comes after.
func (s *stages) record(eng *engine.Engine, name string, before, after func(*engine.Recorder)) (err error) {
	if s.first != nil {
		return nil
	}
	if s.counted == nil {
		s.first, err = eng.Record(name, func(r *engine.Recorder) {
			before(r)
			after(r)
		})
		return err
	}
	if err := s.counted.record(); err != nil {
		return err
	}
	if s.second, err = eng.Record(name, after); err == nil {
		s.first, err = eng.Record(name, before)
	}
	return err
}

// build waits for the kernels.
func (s *stages) build() error {
	if s.counted == nil {
		return s.first.Build()
	}
	return errors.Join(s.first.Build(), s.counted.many.Build(), s.counted.one.Build(), s.second.Build())
}

// submit submits an iteration.
func (s *stages) submit(ctx context.Context) (*vk.Ticket, error) {
	if s.counted == nil {
		return s.first.Submit(ctx)
	}
	blocks, err := 0, error(nil)
	if s.late {
		blocks, err = s.counted.blocks(ctx)
	}
	if err == nil {
		_, err = s.first.Submit(ctx)
	}
	if err == nil && !s.late {
		blocks, err = s.counted.blocks(ctx)
	}
	if err == nil {
		err = s.counted.submit(ctx, blocks)
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
