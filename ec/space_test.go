package ec

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
)

// TestSpaceCheck: an invalid space gives one clear error.
func TestSpaceCheck(t *testing.T) {
	nan := float32(math.NaN())
	for want, s := range map[string]Space{
		"":                                       {Members: 1, Dim: 2},
		"a space of 0 members":                   {Dim: 2},
		"and 0 dimensions":                       {Members: 1},
		"dimension 1 is bounded by 2 and -2":     {Members: 1, Dim: 2, Low: []float32{-1, 2}, High: []float32{1, -2}},
		"dimension 0 is bounded by 1 and 1":      {Members: 1, Dim: 1, Low: []float32{1}, High: []float32{1}},
		"dimension 0 is bounded by NaN and 1":    {Members: 1, Dim: 1, Low: []float32{nan}, High: []float32{1}},
		"1 lower and 0 upper bounds of 2 dimens": {Members: 1, Dim: 2, Low: []float32{1}},
		"descriptor 0 is bounded by 3 and 1":     {Members: 1, Dim: 1, DescriptorLow: []float32{3}, DescriptorHigh: []float32{1}},
		"0 lower and 1 upper bounds of 0 desc":   {Members: 1, Dim: 1, DescriptorHigh: []float32{1}},
	} {
		if err := s.Check(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: error %v; want %q", s, err, want)
		}
	}
}

// silent is a problem that has descriptors in its space but writes none.
type silent struct{ Evaluation }

func (silent) Name() string                        { return "silent" }
func (silent) Objectives() int                     { return 1 }
func (silent) Start(uint32, uint32, int) []float32 { return make([]float32, 2) }
func (silent) Window() int                         { return 1 }
func (silent) Close()                              {}
func (silent) Steps() (candidate, clock int)       { return 0, 0 }
func (silent) Space(members int) Space {
	return Space{Members: members, Dim: 2, DescriptorLow: []float32{0}, DescriptorHigh: []float32{1}}
}
func (s silent) New(context.Context, *engine.State, engine.Clock, int, int) (Evaluation, error) {
	return s, nil
}

func TestSearchOfWhatDescribesNothing(t *testing.T) {
	s, err := NewSearch(t.Context(), engine.New(open(t)), DefaultMAPElites(), silent{}, 1)
	if err == nil || !strings.Contains(err.Error(), "map-elites on silent: the problem's space has 1 descriptors, but its evaluation writes none") {
		t.Errorf("search %v, error %v", s, err)
	}
}
