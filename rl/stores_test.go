package rl

import (
	"testing"

	"github.com/evorl/evorl/internal/processor"
)

// TestOtherStores tests fused updates as on processors that the present one is not of (processor.HalvedStores).
func TestOtherStores(t *testing.T) {
	defer processor.Assume(!processor.UpperWaits())()
	t.Run("off-policy", TestFusedOffPolicyUpdates)
	t.Run("dqn", TestDQNFusedUpdate)
	t.Run("minibatch", TestPackingMinibatch)
}
