package hybrid

import (
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs"
)

// SelfPlayConfig are the settings of self-play. Over names the agent in configurations; NewSelfPlay is given the workflow itself.
type SelfPlayConfig struct {
	Over string `doc:"Agent that learns; its sections become part of the configuration."`

	Capacity  int     `min:"1" max:"1024" doc:"Opponents in a member's pool; a further one takes the place of the oldest."`
	Opponents Draw    `doc:"Opponents of training episodes: uniform, newest, prioritised (low win rate more often), prioritised_even (win rate near 1/2)."`
	Latest    float64 `min:"0" max:"1" doc:"Share of training episodes that a member plays against itself, as it is; both seats learn."`

	Population float64 `min:"0" max:"1" doc:"Share of training episodes that a member plays against other members, as they are, alike; its seat learns."`

	Scripted   float64     `min:"0" max:"1" doc:"Share of training episodes against the script of the world, if it has one."`
	Random     float64     `min:"0" max:"1" doc:"Share of training episodes against random actions."`
	Evaluation envs.Player `doc:"Opponents in evaluations: pool (all opponents of a member's pool alike), scripted (the world's script), random (random actions)."`

	AppendSamples int     `min:"0" max:"2147483647" doc:"Environment steps of a member after which it enters its pool; 0: never for that reason."`
	AppendWinRate float64 `min:"0" max:"1" doc:"Win rate since its last entry, draws half, with which a member enters its pool; 0: never for that reason."`
	AppendGames   int     `min:"1" max:"16777216" doc:"Games since its last entry by which append_win_rate and append_difference count."`

	AppendDifference float64 `min:"0" max:"0.5" doc:"A member waits while its win rate against its newest opponent is nearer to 1/2; 0: while it is that one."`

	Keep float64 `above:"0" max:"1" doc:"Factor by which a game counts less, with every later one against the same opponent, in recent win rates."`

	LeagueConfig
}

// DefaultSelfPlay has the settings of Lamarckian's self-play in OpenAI Five's form (C. Berner et al., 2019): of the episodes 80 % against
// itself, and the rest against older opponents alike. Recent win rates are as AlphaStar's (O. Vinyals et al., 2019).
func DefaultSelfPlay() SelfPlayConfig {
	return SelfPlayConfig{
		Over: "ppo", Capacity: 100, Opponents: UniformDraw, Latest: 0.8, AppendSamples: 1_000_000, AppendGames: 100, Keep: 0.99, LeagueConfig: defaultLeague(),
	}
}

// Validate checks constraints across fields.
func (c SelfPlayConfig) Validate() error {
	if c.Latest+c.Population > 1 {
		return config.Invalid("population", "latest and population are %g and %g; want at most 1 together", c.Latest, c.Population)
	}
	if sum := c.Latest + c.Population + c.Scripted + c.Random; sum > 1+1e-9 {
		return config.Invalid("scripted", "latest, population, scripted and random are %g together; want at most 1", sum)
	}
	if c.AppendSamples == 0 && c.AppendWinRate == 0 {
		return config.Invalid("append_samples", "the pool would keep its first opponent, which is untrained; want append_samples or append_win_rate above 0")
	}
	return c.validateLeague()
}

// Check checks the settings in an environment, for an agent with the given numbers of members and of environments per member.
func (c SelfPlayConfig) Check(env *envs.Environment, members, environments int) error {
	const most = 50000 // loop iterations of a kernel's invocation
	switch n := env.Seats(); {
	case n == 1:
		return config.Invalid("env", "%q has one agent, and self-play needs an opponent; want a world of two, such as \"PongDuel-v0\"", env.Name)
	case n != 2:
		return config.Invalid("env", "%q has %d agents, and games of self-play are between two; want a world of two, such as \"PongDuel-v0\"", env.Name, n)
	case c.Population > 0 && members < 2:
		return config.Invalid("self-play.population", "a single member has no others to play against; want 0, or %s.members of at least 2", c.Over)
	case c.Scripted > 0 && !env.Scripted():
		return config.Invalid("self-play.scripted", "%q has no script; want 0, or a world with one, such as \"PongDuel-v0\"", env.Name)
	case c.Evaluation == envs.ScriptedPlayer && !env.Scripted():
		return config.Invalid("self-play.evaluation", "%q has no script; want pool or random, or a world with one, such as \"PongDuel-v0\"", env.Name)
	case environments > most:
		return config.Invalid(c.Over+".environments", "results of %d environments per member; want at most %d with self-play", environments, most)
	}
	return c.checkLeague(members)
}

// Draw selects how opponents are drawn from a pool.
type Draw uint32

const (
	// UniformDraw draws all opponents alike.
	UniformDraw Draw = iota
	// NewestDraw takes the opponent that entered last.
	NewestDraw
	// PrioritisedDraw draws in proportion to (w_max - w)^3, w being the recent win rate against the opponent, w_max the largest (prioritised fictitious play).
	// Opponents against which fewer than nine games count have the largest weight.
	PrioritisedDraw
	// PrioritisedEvenDraw is PrioritisedDraw with |w - 1/2| for w: opponents of like strength.
	PrioritisedEvenDraw
)

var drawNames = []string{"uniform", "newest", "prioritised", "prioritised_even"}

func (d Draw) String() string { return config.NameOf(d, drawNames) }

// UnmarshalText parses a name: uniform, newest, prioritised or prioritised_even.
func (d *Draw) UnmarshalText(text []byte) error {
	return config.UnmarshalName(d, "opponents", drawNames, text)
}

// MarshalText returns the name.
func (d Draw) MarshalText() ([]byte, error) { return config.MarshalName(d, "opponents", drawNames) }
