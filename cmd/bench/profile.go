package bench

import (
	"context"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Kernel is what one run of a case spent in a kernel.
type Kernel struct {
	Label   string  `json:"label"`
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"` // on the device, of all calls
}

// kernels are the kernels of one run of a program, the longest first; nil unless Options asks for them. It changes what the program changes,
// so it comes after the measurement.
func (b *bench) kernels(ctx context.Context, p *engine.Program) ([]Kernel, error) {
	if !b.profile {
		return nil, nil
	}
	times, err := p.Profile(ctx)
	return kernelsOf(times), err
}

// recorded are the kernels of what f records, run by itself.
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
