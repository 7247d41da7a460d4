package optim

import (
	"testing"

	"github.com/evorl/evorl/internal/processor"
)

// TestOtherStores tests kernels that store 64 bits as on processors that the present one is not of (processor.HalvedStores).
func TestOtherStores(t *testing.T) {
	defer processor.Assume(!processor.UpperWaits())()
	t.Run("optimizers", TestOptimizers)
	t.Run("group", TestGroup)
}
