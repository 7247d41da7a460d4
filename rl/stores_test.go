package rl

import (
	"testing"

	"github.com/evorl/evorl/internal/processor"
)

// TestOtherStores tests what stores 64 bits as on processors that the present one is not of (processor.HalvedStores): fused updates, one of each kind, and
// minibatches.
func TestOtherStores(t *testing.T) {
	defer processor.Assume(!processor.UpperWaits())()
	kinds := 0
	for _, w := range fusedWorkflows() {
		switch w.name {
		case "dqn", "td3", "sac":
			kinds++
			t.Run(w.name, func(t *testing.T) { compareForms(t, w) })
		}
	}
	if kinds != 3 {
		t.Errorf("%d kinds of fused updates; want 3", kinds)
	}
	t.Run("minibatch", TestPackingMinibatch)
}
