package bench

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Kernel is the time that one run of a case spent in a kernel.
type Kernel struct {
	Label   string  `json:"label"`
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"` // on the device, over all calls
}

// kernels returns the kernel times of one run of a program, longest first, or nil unless Options requests them. The run changes the
// program's tensors, so call it after the measurement.
func (b *bench) kernels(ctx context.Context, p *engine.Program) ([]Kernel, error) {
	if !b.profile {
		return nil, nil
	}
	times, err := p.Profile(ctx)
	return kernelsOf(times), err
}

// recorded returns the kernel times of what f records.
func (b *bench) recorded(ctx context.Context, name string, f func(*engine.Recorder)) ([]Kernel, error) {
	if !b.profile {
		return nil, nil
	}
	p, err := b.eng.Record(name, f)
	if err != nil {
		return nil, err
	}
	defer p.Free()
	return b.kernels(ctx, p)
}

func kernelsOf(times []vk.KernelTime) []Kernel {
	var out []Kernel
	for _, t := range times {
		out = append(out, Kernel{t.Label, t.Calls, t.Time.Seconds()})
	}
	return out
}
