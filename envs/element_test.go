package envs

import (
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/nn"
)

// board is an environment; only its header and sizes matter.
const board = `// environment: Board-v0
HEADER
#define STATE_SIZE 1
#define OBS_SIZE 66
#define ACTION_SIZE 2
#define DISCRETE 1

void env_reset(out float s[STATE_SIZE], inout Rng rng) { s[0] = 0.0; }
void env_step(inout float s[STATE_SIZE], uint action, inout Rng rng, out float reward, out bool terminated) { reward = 0.0; terminated = true; }
void env_observe(const float s[STATE_SIZE], out float obs[OBS_SIZE]) { for (int k = 0; k < OBS_SIZE; k++) obs[k] = s[0]; }
`

func TestObservationTypes(t *testing.T) {
	for header, want := range map[string]struct {
		element           nn.Element
		words, frames, to int
		fails             string
	}{
		"":                             {element: nn.Floats, words: 66, to: 66},
		`//! observation_type = "bit"`: {element: nn.Bits, words: 3, to: 66},
		"//! observation_type = \"uint8\"\n//! observation_shape = [11, 6]\n//! observation_frames = 3": {element: nn.Bytes, words: 17, frames: 3, to: 2},
		`//! observation_type = "byte"`:                                {fails: "byte"},
		"//! observation_type = \"bit\"\n//! observation_high = [2]":   {fails: "want bounds within 0 … 1"},
		"//! observation_shape = [11, 6]\n//! observation_frames = 4":  {fails: "want frames that divide the last axis"},
		"//! observation_shape = [11, 6]\n//! observation_frames = 17": {fails: "observation_frames"},
	} {
		env, err := FromGLSL("board.glsl", []byte(strings.Replace(board, "HEADER", header+"\n//! max_steps = 3\n//! iterations = 66", 1)))
		if want.fails != "" {
			if err == nil || !strings.Contains(err.Error(), want.fails) {
				t.Errorf("%s: error %v; want one that says %q", header, err, want.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", header, err)
			continue
		}
		o := env.Observation
		if o.Element != want.element || o.Words() != want.words || o.Frames != want.frames || o.Channels() != want.to {
			t.Errorf("%s: %v, %d words, %d frames, %d channels; want %+v", header, o.Element, o.Words(), o.Frames, o.Channels(), want)
		}
		if low, high := o.Low[0], o.High[0]; o.Element.Packed() && (low != 0 || high != 1) {
			t.Errorf("%s: bounds %g … %g; want 0 … 1", header, low, high)
		}
	}
}
