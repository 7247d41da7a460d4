package evorl_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/evorl/evorl"
)

// A number that is not finite is null, so that a result is always valid JSON.
func TestNumber(t *testing.T) {
	text, err := json.Marshal([]evorl.Number{1.5, evorl.Number(math.NaN()), evorl.Number(math.Inf(-1))})
	if err != nil || string(text) != "[1.5,null,null]" {
		t.Errorf("%s, %v", text, err)
	}
}
