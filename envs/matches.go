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
	Apart                 bool // every member has a pool of its own: member m's begins at row First + m · Count; else they share one
	Seat                  int  // the seat of a member's own row; AnySeat: drawn
	Weighted              bool // rows are drawn in proportion to Weights, else uniformly

	Given   *engine.Tensor // the weights [M, Count] if they are somebody else's; nil: a tensor is made if Weighted
	Alone   float64        // probability that a member's own row plays all seats
	Peers   float64        // probability that other members' own rows, drawn uniformly, play the other seats instead of rows of the pool
	Results bool           // games of two seats are counted; see Matches.Results

	Scripted float64 // probability that the world's script plays the other seats
	Random   float64 // probability that the other seats' actions are drawn uniformly

	begins bool // all episodes begin in the program that draws the rows, which are not kept
}

// AnySeat as MatchConfig.Seat draws a member's own seat.
const AnySeat = -1

// Matches draws which rows of a policy's parameters play the seats of a world, anew where an episode begins. The
// counters of draws are (member, environment, step), and the rows are saved, so a run that resumes goes on with the same
// opponents. A copied member (engine.State.Inherit) goes on against its source's opponents, which in pools apart are the same rows of its own.
type Matches struct {
	cfg     MatchConfig
	seats   int
	stream  uint32
	rows    *engine.Tensor
	weights *engine.Tensor
	facing  *engine.Tensor // [M, E] u32, see shaders/envs/matches.comp
	results *engine.Tensor // nil: games are not counted
}

// NewMatches makes the tensors in s.
//
// Errors: an environment of one agent, sizes below 1, too large a pool, a seat that there is not, a script that there is not.
func NewMatches(s *engine.State, env *Environment, cfg MatchConfig) (*Matches, error) {
	if err := engine.Require(map[string]any{"state": s, "environment": env}); err != nil {
		return nil, fmt.Errorf("envs: matches: %w", err)
	}
	seats := env.Seats()
	most := maxIterations / (1 + max(seats, 2)) // loop iterations of the draw: a sum, and a search for each seat
	switch {
	case seats < 2:
		return nil, fmt.Errorf("envs: matches in %q, which has one agent; want several", env.Name)
	case cfg.Members < 1 || cfg.Environments < 1 || cfg.First < 0 || cfg.Count < 1 || cfg.Weighted && cfg.Count > most:
		return nil, fmt.Errorf("envs: matches of %d members × %d environments with rows %d to %d; want at least one of each, and at most %d rows with weights",
			cfg.Members, cfg.Environments, cfg.First, cfg.First+cfg.Count-1, most)
	case cfg.Results && seats != 2:
		return nil, fmt.Errorf("envs: the results of matches of %d seats in %q; want two", seats, env.Name)
	case !(cfg.Alone >= 0 && cfg.Alone <= 1 && cfg.Peers >= 0 && cfg.Alone+cfg.Peers <= 1):
		return nil, fmt.Errorf("envs: matches of a row alone with probability %g, with other members' of %g; want 0 to 1 together", cfg.Alone, cfg.Peers)
	case !(cfg.Scripted >= 0 && cfg.Random >= 0 && cfg.Alone+cfg.Peers+cfg.Scripted+cfg.Random <= 1+1e-9):
		return nil, fmt.Errorf("envs: matches against a script with probability %g, random actions %g, a row alone %g, other members' %g; want 0 to 1 together",
			cfg.Scripted, cfg.Random, cfg.Alone, cfg.Peers)
	case cfg.Scripted > 0 && !env.Scripted():
		return nil, fmt.Errorf("envs: matches against a script in %q, which has none (ENV_SCRIPT); want probability 0", env.Name)
	case cfg.Peers > 0 && cfg.Members < 2:
		return nil, fmt.Errorf("envs: matches with other members' rows with probability %g; want several members", cfg.Peers)
	case cfg.Given != nil && (!cfg.Weighted || cfg.Given.Len() != cfg.Members*cfg.Count):
		return nil, fmt.Errorf("envs: matches drawn by the weights %v; want one for each of %d members × %d rows, and Weighted", cfg.Given, cfg.Members, cfg.Count)
	case cfg.Seat < AnySeat || cfg.Seat >= seats:
		return nil, fmt.Errorf("envs: matches in which a member has seat %d of %q; want 0 to %d, or %d (any)", cfg.Seat, env.Name, seats-1, AnySeat)
	}
	m := &Matches{cfg: cfg, seats: seats, stream: s.Stream("match")}
	p := engine.Members(cfg.Members)
	row := []engine.Dim{p, engine.Environments(cfg.Environments), engine.Axis("seat", seats)}
	if cfg.begins {
		m.rows = s.Scratch("match_rows", engine.Uint32, row...)
	} else {
		m.rows = s.Tensor("match_rows", engine.Uint32, row...).Own()
		s.OnInherit(m.inherit)
	}
	if m.weights = cfg.Given; cfg.Weighted && m.weights == nil {
		m.weights = s.Tensor("match_weights", engine.Float32, p, engine.Axis("row", cfg.Count))
	}
	if cfg.Results {
		e := engine.Environments(cfg.Environments)
		m.facing = s.Tensor("match_facing", engine.Uint32, p, e)
		m.results = s.Scratch("match_results", engine.Uint32, p, e, engine.Axis("row", cfg.Count), engine.Axis("result", 3))
	}
	return m, s.Err()
}

// Rows returns the rows that play, [M, E, A] u32: Policy.Rows.
func (m *Matches) Rows() *engine.Tensor { return m.rows }

// Weights returns the weights [M, Count] of the pool's rows, at least 0; if all are 0 the draw is uniform. nil unless
// MatchConfig.Weighted.
func (m *Matches) Weights() *engine.Tensor { return m.weights }

// Results returns how many games each world's member won, drew and lost against each row of the pool since RecordClear, [M, E, Count, 3] u32; nil
// unless MatchConfig.Results. The greater return wins. A game is counted when the next one begins; games of a row against itself, of members against
// each other and against players without parameters are not.
func (m *Matches) Results() *engine.Tensor { return m.results }

// RecordClear records setting the results to zero.
func (m *Matches) RecordClear(r *engine.Recorder) { r.Fill(m.results, 0) }

// RecordForget records that games in progress against a row of each member's pool, [M] u32, are not counted, since it is about to be another
// player. A row that the pool does not have stands for none.
func (m *Matches) RecordForget(r *engine.Recorder, rows *engine.Tensor) {
	if m.facing == nil || rows.Len() != m.cfg.Members {
		r.Fail(fmt.Errorf("envs: forgetting the games against rows %v of %d members; want one each, and results", rows, m.cfg.Members))
		return
	}
	size, groups := r.Invocations(m.facing.Len())
	r.Dispatch(matchesForgetKernel{
		Places: rows.Range(), Facing: m.facing.Range(), Members: uint32(m.cfg.Members), Environments: uint32(m.cfg.Environments), LocalSizeX: size,
	}.call(groups, 1, 1))
}

// RecordLeave records that games in progress of rows of a common pool are not counted, since these are about to be other players: gone [Count] u32 is 1 for
// them, as members or as opponents.
func (m *Matches) RecordLeave(r *engine.Recorder, gone *engine.Tensor) {
	if m.facing == nil || m.cfg.Apart || gone.Len() != m.cfg.Count {
		r.Fail(fmt.Errorf("envs: forgetting the games of rows %v in pools of %d; want one flag each, results, and a pool in common", gone, m.cfg.Count))
		return
	}
	size, groups := r.Invocations(m.facing.Len())
	r.Dispatch(matchesLeaveKernel{
		Gone: gone.Range(), Facing: m.facing.Range(), Members: uint32(m.cfg.Members), Environments: uint32(m.cfg.Environments),
		First: uint32(m.cfg.First), Count: uint32(m.cfg.Count), LocalSizeX: size,
	}.call(groups, 1, 1))
}

// apart returns the rows from a member's pool to the next one's; 0: members share one.
func (m *Matches) apart() uint32 {
	if m.cfg.Apart {
		return uint32(m.cfg.Count)
	}
	return 0
}

// inherit records that copied members go on with the opponents of their sources, [M] u32.
func (m *Matches) inherit(r *engine.Recorder, source *engine.Tensor) {
	size, groups := r.Invocations(m.rows.Len())
	r.Dispatch(matchesInheritKernel{
		Source: source.Range(), Rows: m.rows.Range(), Members: uint32(m.cfg.Members), Seats: uint32(m.rows.Len() / m.cfg.Members),
		First: uint32(m.cfg.First), Apart: m.apart(), LocalSizeX: size,
	}.call(groups, 1, 1))
}

// recordScores records the members' scores [M, E] in games of two with the given returns [M, E, 2]: 1 for the greater return, 1/2 for equal ones, 0;
// NaN for a member whose own return is NaN, and 1 against one whose is.
func (m *Matches) recordScores(r *engine.Recorder, returns, scores *engine.Tensor) {
	size, groups := r.Invocations(scores.Len())
	r.Dispatch(matchesScoreKernel{
		Rows: m.rows.Range(), Returns: returns.Range(), Scores: scores.Range(),
		Members: uint32(m.cfg.Members), Environments: uint32(m.cfg.Environments), LocalSizeX: size,
	}.call(groups, 1, 1))
}

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
		Resets: st.options.AutoReset != Disabled, Alone: float32(m.cfg.Alone), Peers: float32(m.cfg.Peers), LocalSizeX: size,
	}
	k.Script, k.Random = float32(m.cfg.Scripted), float32(m.cfg.Random)
	k.Apart = m.apart()
	if m.results != nil {
		k.Returns, k.Facing, k.Results = st.ret.Range(), m.facing.Range(), m.results.Range()
	}
	if m.weights != nil {
		k.Weights = m.weights.Range()
	}
	r.Dispatch(k.call(groups, 1, 1))
}
