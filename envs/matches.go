package envs

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// MatchConfig describes who plays whom in worlds of several agents. A policy's parameters, [K, row], begin with the
// members' own rows; a pool is consecutive rows of them, which may include the members'.
type MatchConfig struct {
	Members, Environments int  // of the rollout
	First, Count          int  // the pool's first row, and its number of rows
	Seat                  int  // the seat of a member's own row; AnySeat: drawn
	Weighted              bool // rows are drawn in proportion to Weights, else uniformly
}

// AnySeat as MatchConfig.Seat draws a member's own seat.
const AnySeat = -1

// Matches draws which rows of a policy's parameters play the seats of a world, anew where an episode begins. The
// counters of draws are (member, environment, step), and the rows are saved, so a run that resumes goes on with the same
// opponents.
type Matches struct {
	cfg     MatchConfig
	seats   int
	stream  uint32
	rows    *engine.Tensor
	weights *engine.Tensor
}

// NewMatches makes the tensors in s.
//
// Errors: an environment of one agent, sizes below 1, too large a pool, a seat that there is not.
func NewMatches(s *engine.State, env *Environment, cfg MatchConfig) (*Matches, error) {
	if err := engine.Require(map[string]any{"state": s, "environment": env}); err != nil {
		return nil, fmt.Errorf("envs: matches: %w", err)
	}
	seats := env.Seats()
	const most = maxIterations / (2 * maxAgents) // loop iterations of the draw
	switch {
	case seats < 2:
		return nil, fmt.Errorf("envs: matches in %q, which has one agent; want several", env.Name)
	case cfg.Members < 1 || cfg.Environments < 1 || cfg.First < 0 || cfg.Count < 1 || cfg.Weighted && cfg.Count > most:
		return nil, fmt.Errorf("envs: matches of %d members × %d environments with rows %d to %d; want at least one of each, and at most %d rows with weights",
			cfg.Members, cfg.Environments, cfg.First, cfg.First+cfg.Count-1, most)
	case cfg.Seat < AnySeat || cfg.Seat >= seats:
		return nil, fmt.Errorf("envs: matches in which a member has seat %d of %q; want 0 to %d, or %d (any)", cfg.Seat, env.Name, seats-1, AnySeat)
	}
	m := &Matches{cfg: cfg, seats: seats, stream: s.Stream("match")}
	p := engine.Members(cfg.Members)
	m.rows = s.Tensor("match_rows", engine.Uint32, p, engine.Environments(cfg.Environments), engine.Axis("seat", seats))
	if cfg.Weighted {
		m.weights = s.Tensor("match_weights", engine.Float32, p, engine.Axis("row", cfg.Count))
	}
	return m, s.Err()
}

// Rows returns the rows that play, [M, E, A] u32: Policy.Rows.
func (m *Matches) Rows() *engine.Tensor { return m.rows }

// Weights returns the weights [M, Count] of the pool's rows, at least 0; if all are 0 the draw is uniform. nil unless
// MatchConfig.Weighted.
func (m *Matches) Weights() *engine.Tensor { return m.weights }

// record records the draws before step number step after the clock's count.
func (m *Matches) record(r *engine.Recorder, st *seated, clock engine.Clock, step int) {
	if c := st.cfg; c.Members != m.cfg.Members || c.Environments != m.cfg.Environments || st.env.Seats() != m.seats {
		r.Fail(fmt.Errorf("envs: matches of %d members × %d environments × %d seats in a rollout of %d × %d × %d",
			m.cfg.Members, m.cfg.Environments, m.seats, c.Members, c.Environments, st.env.Seats()))
		return
	}
	size, groups := r.Invocations(m.cfg.Members * m.cfg.Environments)
	own := uint32(m.cfg.Seat)
	if m.cfg.Seat == AnySeat {
		own = uint32(m.seats)
	}
	k := matchesKernel{
		WorldStep: st.world.Range(), Clock: clock.Tensor().Range(), Rows: m.rows.Range(),
		Members: uint32(m.cfg.Members), Environments: uint32(m.cfg.Environments), Seats: uint32(m.seats), Own: own,
		First: uint32(m.cfg.First), Count: uint32(m.cfg.Count), Step: uint32(step), Seed: r.Engine().Seed(), Stream: m.stream,
		Resets: st.options.AutoReset != Disabled, LocalSizeX: size,
	}
	if m.weights != nil {
		k.Weights = m.weights.Range()
	}
	r.Dispatch(k.call(groups, 1, 1))
}
