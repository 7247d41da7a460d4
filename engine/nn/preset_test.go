package nn

import (
	"strings"
	"testing"
)

// Presets have the parameters that their papers' networks have.
func TestPresets(t *testing.T) {
	atari := Shape{84, 84, 4}
	for _, c := range []struct {
		preset    Preset
		in        Shape
		out, size int
	}{
		{Nature, atari, 6, 1_687_206}, {A3C, atari, 6, 677_686}, {Impala, atari, 6, 1_090_774},
		{MinAtar, Shape{10, 10, 4}, 6, 132_566}, {MinAtar, Shape{10, 10, 6}, 6, 132_854}, {MinAtar, Shape{10, 10, 7}, 6, 132_998},
		{MinAtar, Shape{10, 10, 10}, 6, 133_430}, {EvoJAXMNIST, Shape{28, 28, 1}, 10, 11_274},
		{PPORNN, Shape{128}, 2, 128*128 + 128 + 98_816 + 128*128 + 128 + 128*2 + 2},
	} {
		var p Preset
		if err := p.UnmarshalText([]byte(c.preset.String())); err != nil || p != c.preset {
			t.Errorf("preset %v is read as %v, %v", c.preset, p, err)
		}
		m := Config{Hidden: []int{64}, Preset: c.preset}.Model(c.in, c.out, Float32)
		if err := m.Check(); err != nil || m.Size() != c.size {
			t.Errorf("preset %v over %v has %d parameters, %v; want %d", c.preset, c.in, m.Size(), err, c.size)
		}
	}
	layers := []LayerConfig{{Units: 3}}
	if err := (Config{Preset: MinAtar, Layers: layers}).Validate(); err == nil || !strings.Contains(err.Error(), "one of both") {
		t.Errorf("layers beside a preset: %v", err)
	}
	two := Sequential{In: Shape{3}, Out: 1, Hidden: []LayerConfig{{Kind: GRU, Units: 3}, {Kind: LSTM, Units: 3}}}
	if err := two.Check(); err == nil || !strings.Contains(err.Error(), "2 cells") {
		t.Errorf("two cells: %v", err)
	}
}
