package bench

// #include "host.h"
import "C"

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// A limit is the maximum over several stretches of time, so that other load on the machine does not lower it.
const (
	stretches = 10
	stretch   = 10 * time.Millisecond // of the processors
)

// hostFlops measures the float32 operations per second of all processors available to the process, by fused multiply-adds in registers.
func hostFlops(ctx context.Context) (float64, error) {
	const rounds = 100_000 // a fifth of a millisecond
	work := 2 * rounds * float64(C.evorl_fma_floats())
	return hostRate(ctx, func(int) float64 {
		C.evorl_fma(rounds)
		return work
	})
}

// hostBandwidth measures the bytes per second that all processors together read and write when they copy data larger than the caches.
func hostBandwidth(ctx context.Context) (float64, error) {
	const size, piece = 64 << 20, 1 << 20 // per processor
	src, dst := make([]byte, runtime.NumCPU()*size), make([]byte, runtime.NumCPU()*size)
	for i := 0; i < len(src); i += 4096 { // touch all pages before the measurement
		src[i], dst[i] = 1, 1
	}
	done := make([]int, runtime.NumCPU())
	return hostRate(ctx, func(processor int) float64 {
		at := processor*size + done[processor]*piece%size
		copy(dst[at:at+piece], src[at:])
		done[processor]++
		return 2 * piece
	})
}

// hostRate calls f repeatedly on all processors and returns the highest work per second of any stretch. Each call does little work.
func hostRate(ctx context.Context, f func(processor int) (work float64)) (float64, error) {
	most := 0.0
	for range stretches {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		done := make([]float64, runtime.NumCPU())
		var all sync.WaitGroup
		begin := time.Now()
		for i := range done {
			all.Go(func() {
				for time.Since(begin) < stretch {
					done[i] += f(i)
				}
			})
		}
		all.Wait()
		took, sum := time.Since(begin).Seconds(), 0.0
		for _, work := range done {
			sum += work
		}
		most = max(most, sum/took)
	}
	return most, nil
}
