package nn

import (
	"testing"

	"github.com/evorl/evorl/internal/processor"
)

// TestOtherStores tests kernels that store 64 bits as on processors that the present one is not of (processor.HalvedStores). Forms of products are tested
// both ways by TestGemm.
func TestOtherStores(t *testing.T) {
	defer processor.Assume(!processor.UpperWaits())()
	for name, test := range map[string]func(*testing.T){
		"narrow": TestNetworkNarrow, "patches": TestPatchesMemory, "pools": TestPools, "recurrent": TestRecurrentLayers, "elements": TestPackingInputs,
		"convolutions with a pool": TestConvolutionPool,
	} {
		t.Run(name, test)
	}
}
