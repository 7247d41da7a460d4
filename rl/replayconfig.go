package rl

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// ReplayConfig holds the settings of a replay.
type ReplayConfig struct {
	Capacity     int          `min:"1" max:"1073741824" doc:"Number of stored transitions, per member or, if shared, in total."`
	Shared       bool         `doc:"All members' transitions go into one ring, from which each member draws its own batches."`
	Batch        int          `min:"1" max:"1048576" doc:"Transitions per member and update; sequences, of networks with memory."`
	BatchShare   float64      `above:"0" max:"1" doc:"Fraction of the batch that is drawn; the rest repeats it. Per member." member:"uniform 0.1 1"`
	Steps        int          `min:"1" max:"64" doc:"Steps n of the returns before bootstrapping."`
	Inherit      bool         `doc:"A member that becomes a copy of another copies its ring; otherwise it keeps its own."`
	Observations ReplayFormat `doc:"Storage of float32 observations: float32 or float16."`
	EndShare     float64      `min:"0" max:"1" doc:"Most rows without a next row, such as an episode's last, by the capacity; with more, the oldest are dropped."`

	TruncationEnds bool `doc:"Episodes that a time limit ends count as terminated: their last transition does not bootstrap."`

	Save bool `doc:"Checkpoints contain the replay; otherwise a resumed run refills it by its policies, with other random numbers."`

	Prioritized           bool    `doc:"Batches are drawn by proportional priorities of errors (T. Schaul et al., 2016); otherwise uniformly."`
	PriorityExponent      float64 `min:"0" max:"1" doc:"Exponent alpha of priorities; 0: uniform. Per member." member:"uniform 0 1"`
	ImportanceExponent    float64 `min:"0" max:"1" doc:"Exponent beta of importance weights; 1: full correction. Per member." member:"uniform 0 1"`
	ImportanceAnnealSteps int     `min:"0" doc:"Environment steps per member over which beta rises linearly to 1; 0: constant."`
	PriorityEpsilon       float64 `min:"0" doc:"Added to the size of errors. Every priority is at least 2^-16, so that every row can be drawn."`

	InitialPriority InitialPriority `doc:"Priority of new transitions: max, the largest, or td-error, by the values that acted (D. Horgan et al., 2018)."`
}

// Validate checks constraints across fields.
func (c ReplayConfig) Validate() error {
	switch {
	case c.Inherit && c.Shared:
		return config.Invalid("inherit", "the members share one ring, so none can be copied; want false")
	case c.Inherit && !c.Save:
		return config.Invalid("inherit", "only state in checkpoints is copied; want save = true, or inherit = false")
	case !c.Prioritized && c.InitialPriority != LargestPriority:
		return config.Invalid("initial_priority", "%v, and batches are drawn uniformly; want prioritized = true, or max", c.InitialPriority)
	case c.Shared && c.InitialPriority != LargestPriority:
		return config.Invalid("initial_priority", "%v, and the members share one ring, where others acted; want shared = false, or max", c.InitialPriority)
	case c.Prioritized && c.BatchShare != 1:
		return config.Invalid("batch_share", "prioritized batches are drawn whole; want 1")
	case c.Prioritized && c.Batch > maxPrioritized:
		return config.Invalid("batch", "%d prioritized transitions; want at most %d", c.Batch, maxPrioritized)
	}
	return nil
}

// checkCapacity checks the capacity against the trajectories [T, M, E] that are appended.
func (c ReplayConfig) checkCapacity(members, environments, horizon int) error {
	lanes := environments
	if c.Shared {
		lanes *= members
	}
	return c.checkRows(horizon * lanes)
}

// checkRows checks the capacity against the transitions that an iteration appends to a ring.
func (c ReplayConfig) checkRows(rows int) error {
	if c.Capacity < 2*rows {
		return config.Invalid("replay.capacity", "%d transitions, where an iteration appends %d; want at least twice as many", c.Capacity, rows)
	}
	return nil
}

// DefaultReplay is a ring of a million transitions per member, with batches of 256 (CleanRL's and Stable-Baselines3's
// DDPG, TD3 and SAC). A copied member keeps its own ring, as in fastpbrl's PBT (A. Flajolet et al., 2022). Settings of
// prioritized replay are T. Schaul et al.'s, 2016, table 3, except epsilon, which is OpenAI Baselines', and
// beta, which is constant. The share of ends suffices for episodes of eight steps on average.
func DefaultReplay() ReplayConfig {
	return ReplayConfig{
		Capacity: 1_000_000, Batch: 256, BatchShare: 1, Steps: 1, EndShare: 1.0 / 8, Save: true,
		PriorityExponent: 0.6, ImportanceExponent: 0.4, PriorityEpsilon: 1e-6,
	}
}

// keep makes a tensor that lives as long as the replay. own: a copied member keeps its own.
func (c ReplayConfig) keep(s *engine.State, own bool, name string, typ engine.DType, dims ...engine.Dim) *engine.Tensor {
	if !c.Save {
		return s.Unsaved(name, typ, dims...)
	}
	t := s.Tensor(name, typ, dims...)
	if own {
		t.Own()
	}
	return t
}
