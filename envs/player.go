package envs

import "github.com/evorl/evorl/engine/config"

// Player is what plays a seat of a world of several agents.
type Player uint32

const (
	// PoolPlayer is a row of a pool of parameters.
	PoolPlayer Player = iota
	// ScriptedPlayer is the script of the world (Environment.Scripted), which needs no parameters.
	ScriptedPlayer
	// RandomPlayer draws its actions uniformly.
	RandomPlayer
)

var playerNames = []string{"pool", "scripted", "random"}

func (p Player) String() string { return config.NameOf(p, playerNames) }

// UnmarshalText parses a name: pool, scripted or random.
func (p *Player) UnmarshalText(text []byte) error {
	return config.UnmarshalName(p, "player", playerNames, text)
}

// MarshalText returns the name.
func (p Player) MarshalText() ([]byte, error) { return config.MarshalName(p, "player", playerNames) }

// Alone returns matches in which a member plays against this player only; of PoolPlayer, the matches themselves.
func (p Player) Alone(of MatchConfig) MatchConfig {
	switch p {
	case ScriptedPlayer:
		return MatchConfig{First: of.First, Count: 1, Scripted: 1}
	case RandomPlayer:
		return MatchConfig{First: of.First, Count: 1, Random: 1}
	}
	return of
}

// Scripted reports whether the world has a script that can play its seats: its GLSL defines ENV_SCRIPT, and has several agents.
func (e *Environment) Scripted() bool { return e.scripted && e.Seats() > 1 }
