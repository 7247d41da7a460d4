package config

import (
	"errors"
	"math"
	"strings"
	"testing"
)

type checked struct {
	Rate   float64 `above:"0" max:"1"`
	Layers []int   `min:"1"`
	Kind   string  `choices:"a,b"`
	Inner  struct {
		Count int `min:"2"`
	}
	Free *int `min:"5"`
}

func (c *checked) Validate() error {
	if len(c.Layers) > 2 {
		return errors.New("too many layers")
	}
	return nil
}

func TestCheck(t *testing.T) {
	right := func() *checked {
		c := &checked{Rate: 0.5, Layers: []int{1, 2}, Kind: "a"}
		c.Inner.Count = 2
		return c
	}
	if err := Check(right()); err != nil {
		t.Errorf("Check of what is right: %v", err)
	}
	if err := Check(*right()); err != nil {
		t.Errorf("Check of a value: %v", err)
	}
	three := 3
	for want, wrong := range map[string]func(*checked){
		"rate is 0.0; want above 0 and at most 1": func(c *checked) { c.Rate = 0 },
		"NaN is not finite":                       func(c *checked) { c.Rate = math.NaN() },
		"layers is [1, 0]; want at least 1":       func(c *checked) { c.Layers[1] = 0 },
		"kind is":                                 func(c *checked) { c.Kind = "c" },
		"inner.count is 1; want at least 2":       func(c *checked) { c.Inner.Count = 1 },
		"free is 3; want at least 5":              func(c *checked) { c.Free = &three },
		"too many layers":                         func(c *checked) { c.Layers = []int{1, 1, 1} },
	} {
		c := right()
		wrong(c)
		if err := Check(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check: %v; want %q", err, want)
		}
	}
	if Check(3) == nil {
		t.Error("Check of an integer: no error")
	}
}
