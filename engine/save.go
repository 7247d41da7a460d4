package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/evorl/evorl/engine/checkpoint"
)

// Save writes a checkpoint of all saved tensors to dir, named by the iteration.
func (s *State) Save(ctx context.Context, dir string, iteration int, opts ...checkpoint.Option) (checkpoint.Manifest, error) {
	if s.all.torn > 0 {
		return checkpoint.Manifest{}, s.refuse(iteration)
	}
	if s.all.closed {
		return checkpoint.Manifest{}, errClosed
	}
	if err := s.settle(ctx); err != nil {
		return checkpoint.Manifest{}, fmt.Errorf("engine: saving iteration %d: %w", iteration, err)
	}
	return checkpoint.Save(dir, int64(iteration), s.tensors(ctx), opts...)
}

// Digest returns the digest that a checkpoint of the current state would have: over names, types, shapes and bytes of all saved
// tensors.
func (s *State) Digest(ctx context.Context) (string, error) {
	if err := s.settle(ctx); err != nil {
		return "", fmt.Errorf("engine: the digest of a state: %w", err)
	}
	var digests []checkpoint.TensorDigest
	for _, t := range s.all.named {
		data, err := t.ReadBytes(ctx)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(data)
		digests = append(digests, checkpoint.TensorDigest{
			Name: t.name, DType: checkpoint.DType(t.typ.String()), Shape: t.shape(), SHA256: hex.EncodeToString(sum[:]),
		})
	}
	return checkpoint.Digest(digests)
}

func (s *State) tensors(ctx context.Context) iter.Seq[checkpoint.Tensor] {
	return func(yield func(checkpoint.Tensor) bool) {
		for _, t := range s.all.named {
			if !yield(checkpoint.Tensor{Name: t.name, DType: checkpoint.DType(t.typ.String()), Shape: t.shape(), Data: &tensorReader{ctx: ctx, t: t}}) {
				return
			}
		}
	}
}

func (t *Tensor) shape() []int {
	shape := make([]int, len(t.dims))
	for i, d := range t.dims {
		shape[i] = d.Size
	}
	return shape
}

// tensorReader reads a tensor from the device at its first Read.
type tensorReader struct {
	ctx  context.Context
	t    *Tensor
	data *bytes.Reader
}

func (r *tensorReader) Read(p []byte) (int, error) {
	if r.data == nil {
		data, err := r.t.ReadBytes(r.ctx)
		if err != nil {
			return 0, err
		}
		r.data = bytes.NewReader(data)
	}
	return r.data.Read(p)
}

// Load sets all saved tensors from a verified checkpoint. The checkpoint must hold exactly the state's tensors, with their
// types and shapes, or other parts of the same whole ones (Part). Otherwise the error names the difference and nothing is changed.
func (s *State) Load(ctx context.Context, c *checkpoint.Checkpoint) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("engine: checkpoint %s is of another configuration: "+format, append([]any{c.Path}, args...)...)
	}
	parts := s.divided(c)
	of, to := map[string]*divided{}, len(s.all.named) // the parts of the checkpoint; the state's tensors that are no such parts
	for _, d := range parts {
		to -= len(d.to)
		for _, from := range d.from {
			of[from.Name] = d
		}
	}
	if err := s.checkTensors(c, of, to, fail); err != nil {
		return err
	}
	for _, d := range c.Manifest.Tensors {
		if of[d.Name] != nil {
			continue
		}
		if t := s.all.index[d.Name]; !slices.Equal(d.Shape, t.shape()) {
			return fail("its tensor %q is %s%v; this run's is %v", d.Name, d.DType, d.Shape, t)
		}
	}
	return s.load(ctx, c, of, func(_ *Tensor, data []byte) []byte { return data })
}

// checkTensors checks names and types of a checkpoint's tensors but for parts, of which the state has `to` others; fail makes the error.
func (s *State) checkTensors(c *checkpoint.Checkpoint, parts map[string]*divided, to int, fail func(format string, args ...any) error) error {
	if err := Require(map[string]any{"checkpoint": c}); err != nil {
		return fmt.Errorf("engine: loading a state: %w", err)
	}
	if err := s.Err(); err != nil {
		return err
	}
	if len(c.Manifest.Tensors)-len(parts) != to {
		return fail("it holds %d tensors; this run has %d", len(c.Manifest.Tensors), len(s.all.named))
	}
	for _, d := range c.Manifest.Tensors {
		if parts[d.Name] != nil {
			continue
		}
		t := s.all.index[d.Name]
		if t == nil {
			return fail("it holds tensor %q, which this run does not have", d.Name)
		}
		if string(d.DType) != t.typ.String() {
			return fail("its tensor %q is %s%v; this run's is %v", d.Name, d.DType, d.Shape, t)
		}
	}
	return nil
}

// load writes a checkpoint's tensors, which were checked, by what of returns for the bytes of each, and parts as the state divides them.
func (s *State) load(ctx context.Context, c *checkpoint.Checkpoint, parts map[string]*divided, of func(t *Tensor, data []byte) []byte) error {
	s.all.begun, s.all.torn, s.all.next, s.all.resumed = true, 0, int(c.Manifest.Step), true
	return c.Load(func(from checkpoint.Tensor) error {
		data, err := io.ReadAll(from.Data)
		if err != nil {
			return fmt.Errorf("engine: checkpoint %s: tensor %q: %w", c.Path, from.Name, err)
		}
		if d := parts[from.Name]; d != nil {
			return d.take(ctx, from.Name, data)
		}
		t := s.all.index[from.Name]
		return t.WriteBytes(ctx, of(t, data))
	})
}
