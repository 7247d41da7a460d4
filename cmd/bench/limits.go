package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// Those of shaders/cmd/bench/fma.comp.
const (
	fmaChains = 12
	fmaStep   = 31 // products and sums of a step
)

// fmaPeak measures float32 multiplications and additions a second, in GFLOP/s.
func fmaPeak(ctx context.Context, b *bench) (figure, error) {
	peak, err := b.flops(ctx)
	return figure{value: peak / 1e9}, err
}

// flops is the device's peak, measured once.
func (b *bench) flops(ctx context.Context) (float64, error) {
	if b.peak > 0 {
		return b.peak, nil
	}
	// Enough groups for the largest GPU; on a software driver each core takes some.
	info := b.eng.Device().Info()
	groups, local, rounds := 8192, 256, 16
	if !info.Type.GPU() {
		groups, local, rounds = 256, int(info.SubgroupSize), 256
	}
	s := b.eng.NewState()
	defer s.Close()
	result := s.Scratch("result", engine.Float32, engine.Axis("invocation", groups*local))
	if err := s.Err(); err != nil {
		return 0, err
	}
	p, err := b.eng.Record("fma", func(r *engine.Recorder) {
		k := fmaKernel{Result: result.Range(), Rounds: uint32(rounds), Term: 0.25, LocalSizeX: uint32(local)}
		r.Dispatch(k.call(uint32(groups), 1, 1))
	})
	if err != nil {
		return 0, err
	}
	defer p.Free()
	work := 2 * float64(groups*local) * float64(rounds) * fmaStep * fmaChains
	// The best of several short stretches: what else the machine does must not lower a limit.
	for range 5 {
		short := *b
		short.time = b.time / 5
		rate, err := short.rate(ctx, work, func() error { return p.Run(ctx) })
		if err != nil {
			return 0, err
		}
		b.peak = max(b.peak, rate)
	}
	return b.peak, nil
}

// copyBandwidth measures a copy within device memory, in GB/s, reading and writing counted.
func copyBandwidth(ctx context.Context, b *bench) (figure, error) {
	bytes := int64(64 << 20)
	if b.eng.Device().Info().Type.GPU() {
		bytes = 512 << 20
	}
	dev := b.eng.Device()
	src, err := dev.NewBuffer(bytes, vk.Local)
	if err != nil {
		return figure{}, err
	}
	defer src.Free()
	dst, err := dev.NewBuffer(bytes, vk.Local)
	if err != nil {
		return figure{}, err
	}
	defer dst.Free()
	p := dev.NewProgram("copy")
	defer p.Free()
	p.Fill(src.All(), 1)
	if err := p.Build(); err != nil {
		return figure{}, err
	}
	if err := p.Run(ctx); err != nil {
		return figure{}, err
	}
	c := dev.NewProgram("copy")
	defer c.Free()
	c.Copy(dst.All(), src.All())
	if err := c.Build(); err != nil {
		return figure{}, err
	}
	rate, err := b.rate(ctx, 2*float64(bytes)/1e9, func() error { return c.Run(ctx) })
	return figure{value: rate}, err
}

// submitLatency measures the time from submitting the least program to its end, in µs: the median.
func submitLatency(ctx context.Context, b *bench) (figure, error) {
	dev := b.eng.Device()
	buffer, err := dev.NewBuffer(4, vk.Local)
	if err != nil {
		return figure{}, err
	}
	defer buffer.Free()
	p := dev.NewProgram("nothing")
	defer p.Free()
	p.Fill(buffer.All(), 0)
	if err := p.Build(); err != nil {
		return figure{}, err
	}
	var times []time.Duration
	if _, err := b.rate(ctx, 1, func() error {
		begin := time.Now()
		err := p.Run(ctx)
		times = append(times, time.Since(begin))
		return err
	}); err != nil {
		return figure{}, err
	}
	if len(times) == 0 {
		return figure{}, fmt.Errorf("no run")
	}
	slices.Sort(times)
	return figure{value: float64(times[len(times)/2].Nanoseconds()) / 1e3}, nil
}
