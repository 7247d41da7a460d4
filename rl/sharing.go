package rl

import (
	"fmt"

	"github.com/evorl/evorl/engine/config"
)

// Sharing says which layers actor and critic of an on-policy method share.
type Sharing uint32

const (
	// ShareNone: each has a network of its own, as in PureJaxRL's ppo.py and CleanRL's ppo.py.
	ShareNone Sharing = iota
	// ShareAll: all layers before the outputs, as in CleanRL's ppo_atari.py and ppo_atari_lstm.py.
	ShareAll
	// ShareCell: the layers up to the recurrent cell; of those behind it each has its own, as in PureJaxRL's ppo_rnn.py.
	ShareCell
)

var sharingNames = [...]string{"none", "all", "cell"}

// String returns the name in a configuration.
func (s Sharing) String() string {
	if int(s) < len(sharingNames) {
		return sharingNames[s]
	}
	return fmt.Sprintf("Sharing(%d)", uint32(s))
}

// UnmarshalText parses a name.
func (s *Sharing) UnmarshalText(text []byte) error {
	return config.UnmarshalName(s, "sharing", sharingNames[:], text)
}

// MarshalText returns the name.
func (s Sharing) MarshalText() ([]byte, error) {
	return config.MarshalName(s, "sharing", sharingNames[:])
}
