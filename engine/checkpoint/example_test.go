package checkpoint_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/evorl/evorl/engine/checkpoint"
)

// A checkpoint is tensors and a manifest with their digests. One that was altered is refused, and the one before it is the latest.
func Example() {
	dir, err := os.MkdirTemp("", "checkpoints")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for step := range int64(3) {
		weights := checkpoint.Tensor{Name: "weights", DType: checkpoint.U32, Shape: []int{2}, Data: bytes.NewReader([]byte{byte(step), 0, 0, 0, 7, 0, 0, 0})}
		if _, err := checkpoint.Save(dir, step, slices.Values([]checkpoint.Tensor{weights})); err != nil {
			log.Fatal(err)
		}
	}
	newest := filepath.Join(checkpoint.Path(dir, 2), "tensors.safetensors")
	if err := os.Truncate(newest, 10); err != nil {
		log.Fatal(err)
	}
	latest, refused, err := checkpoint.Latest(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("checkpoint", latest.Manifest.Step, "after", len(refused), "refused")
	err = latest.Load(func(t checkpoint.Tensor) error {
		data, err := io.ReadAll(t.Data)
		fmt.Println(t.Name, t.DType, t.Shape, data)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// checkpoint 1 after 1 refused
	// weights U32 [2] [1 0 0 0 7 0 0 0]
}
