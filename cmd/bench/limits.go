package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// The constants of shaders/cmd/bench/fma.comp.
const (
	fmaChains = 12
	fmaStep   = 31 // multiplications and additions per step
)

// fmaPeak measures float32 multiplications and additions per second, in GFLOP/s.
func fmaPeak(ctx context.Context, b *bench) (figure, error) {
	peak, err := b.largest(ctx, b.flops)
	return figure{value: peak / 1e9}, err
}

// largest measures a limit repeatedly for the time of a case and returns the maximum.
func (b *bench) largest(ctx context.Context, limit func(context.Context) (float64, error)) (float64, error) {
	most, begin := 0.0, time.Now()
	for most == 0 || time.Since(begin) < b.time {
		rate, err := limit(ctx)
		if err != nil {
			return 0, err
		}
		most = max(most, rate)
	}
	return most, nil
}

// around runs f and returns the device's peak. A GPU's is measured once. A software driver's is measured before f and after it, and the larger
// one returned, since other load on the machine changes from second to second.
func (b *bench) around(ctx context.Context, f func() error) (peak float64, err error) {
	limit := b.limit
	if limit == nil {
		limit = b.flops
	}
	if b.gpu {
		if b.peak == 0 {
			if b.peak, err = limit(ctx); err != nil {
				return 0, err
			}
		}
		return b.peak, f()
	}
	before, err := limit(ctx)
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := limit(ctx)
	return max(before, after), err
}

// flops measures the device's float32 operations per second. For a software driver the device is the processor,
// including instructions that the driver does not use.
func (b *bench) flops(ctx context.Context) (float64, error) {
	if b.eng.Device().Info().Type == vk.CPU {
		return hostFlops(ctx)
	}
	rounds := 16
	for ; rounds < 1<<16; rounds *= 2 {
		short := *b
		short.time, short.gpu = 0, false // a dispatch at a time
		rate, err := short.kernelFlops(ctx, flopGroups, flopLanes, rounds)
		if err != nil {
			return 0, err
		}
		if flopWork(flopGroups, flopLanes, rounds) >= rate*longDispatch.Seconds() {
			break
		}
	}
	return b.kernelFlops(ctx, flopGroups, flopLanes, rounds)
}

// The kernel's sizes on GPUs. Its dispatches take so long that what begins and ends them does not count.
const (
	flopGroups, flopLanes = 8192, 256
	longDispatch          = 5 * time.Millisecond
)

// flopWork returns the operations of a dispatch.
func flopWork(groups, local, rounds int) float64 {
	return 2 * float64(groups*local) * float64(rounds) * fmaStep * fmaChains
}

// kernelFlops measures them with a kernel: `groups` workgroups of `local` invocations that each compute `rounds`
// rounds of its chains.
func (b *bench) kernelFlops(ctx context.Context, groups, local, rounds int) (float64, error) {
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
	work, peak := flopWork(groups, local, rounds), 0.0
	for range stretches {
		short := *b
		short.time = b.time / 20
		rate, err := short.rate(ctx, work, submitted(ctx, p))
		if err != nil {
			return 0, err
		}
		peak = max(peak, rate)
	}
	return peak, nil
}

// copyBandwidth measures a copy within device memory, in GB/s, counting reads and writes. A software driver copies with one thread, so on
// such a device the processors measure their memory themselves.
func copyBandwidth(ctx context.Context, b *bench) (figure, error) {
	dev := b.eng.Device()
	if dev.Info().Type == vk.CPU {
		rate, err := b.largest(ctx, hostBandwidth)
		return figure{value: rate / 1e9}, err
	}
	const bytes = int64(512 << 20)
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
	rate, err := b.rate(ctx, 2*float64(bytes)/1e9, submitted(ctx, c))
	return figure{value: rate}, err
}

// submitLatency measures the median time from submitting a minimal program to its end, in µs.
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
	if _, err := b.rate(ctx, 1, eachWaited(func() error {
		begin := time.Now()
		err := p.Run(ctx)
		times = append(times, time.Since(begin))
		return err
	})); err != nil {
		return figure{}, err
	}
	if len(times) == 0 {
		return figure{}, fmt.Errorf("no run")
	}
	slices.Sort(times)
	return figure{value: float64(times[len(times)/2].Nanoseconds()) / 1e3}, nil
}
