package bridge

import "github.com/evorl/evorl/engine/config"

// Atari is a protocol by which games of the Arcade Learning Environment are played. docs/atari.md has them as a table, and atari.py as they are.
type Atari uint32

const (
	// NoAtari plays games as Gymnasium has them.
	NoAtari Atari = iota
	// Atari2013 is that of V. Mnih et al., "Playing Atari with Deep Reinforcement Learning", 2013.
	Atari2013
	// Atari2015 is that of V. Mnih et al., "Human-level control through deep reinforcement learning", 2015.
	Atari2015
	// Atari2018 is that of M. C. Machado et al., "Revisiting the Arcade Learning Environment", 2018.
	Atari2018
	// AtariBaselines is that of OpenAI's baselines (2017), which CleanRL and Stable-Baselines3 have too.
	AtariBaselines
)

var atariNames = [...]string{"none", "2013", "2015", "2018", "baselines"}

func (a Atari) String() string { return config.NameOf(a, atariNames[:]) }

// UnmarshalText parses a protocol's name.
func (a *Atari) UnmarshalText(text []byte) error {
	return config.UnmarshalName(a, "protocol of Atari", atariNames[:], text)
}

// MarshalText returns a protocol's name.
func (a Atari) MarshalText() ([]byte, error) {
	return config.MarshalName(a, "protocol of Atari", atariNames[:])
}
