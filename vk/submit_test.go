package vk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

const slowWords = 20_000

// slowSteps is the number of steps for which slowWords take some tenths of a second.
func slowSteps(d *Device) int {
	if d.Info().Type == CPU {
		return 60_000
	}
	return 100_000_000
}

// spinProgram runs the spin kernel for the given steps.
func spinProgram(t *testing.T, d *Device, name string, x *Buffer, steps int) *Program {
	t.Helper()
	p := d.NewProgram(name)
	p.Dispatch(spinCall(x.All(), steps))
	build(t, p)
	return p
}

// A cancelled wait returns at once. The program still runs to its end.
func TestCancel(t *testing.T) {
	for _, v := range variants[:3] {
		t.Run(v.name, func(t *testing.T) {
			d := openTest(t, v.opts...)
			x := newTestBuffer(t, d, slowWords, Local)
			writeWords(t, x, make([]uint32, slowWords))
			warm := spinProgram(t, d, "warm", x, 1) // the software driver compiles here
			run(t, warm)
			p := spinProgram(t, d, "slow", x, slowSteps(d))
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
			defer cancel()
			began := time.Now()
			err := p.Run(ctx)
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 5*time.Second {
				t.Errorf("Run returned %v after %v, want %v at once", err, took, context.DeadlineExceeded)
			}
			if err := p.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Run with a context that is done: %v", err)
			}
			if got, want := readWords(t, x)[0], spin(0, 1664525, slowSteps(d)+1); got != want {
				t.Errorf("after the cancelled run x = %d, want %d", got, want)
			}
			if n := d.Counters().Submissions; n != 2 {
				t.Errorf("%d submissions, want 2", n)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	for _, v := range variants[:3] {
		t.Run(v.name, func(t *testing.T) {
			d := openTest(t, append([]Option{Timeout(10 * time.Millisecond)}, v.opts...)...)
			x := newTestBuffer(t, d, slowWords, Local)
			p := spinProgram(t, d, "endless", x, slowSteps(d))
			err := p.Run(context.Background())
			var de *DeviceError
			if !errors.Is(err, ErrTimeout) || !errors.As(err, &de) || de.Running != "endless" {
				t.Errorf("%v, want ErrTimeout of program endless", err)
			}
			d.cfg.timeout = time.Minute // so that Close waits for it
			run(t, p)                   // the device is still usable
		})
	}
}

// A lost device stays lost, and its errors name the program that was running.
func TestDeviceLost(t *testing.T) {
	d := openTest(t)
	x := newTestBuffer(t, d, 1, Local)
	p := spinProgram(t, d, "unlucky", x, 1)
	ctx := context.Background()
	ticket, err := p.Submit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for d.waitOnce(ticket.value, time.Second) != resultSuccess {
	}
	d.fail("waiting", resultDeviceLost) // as wait does when the driver reports a loss
	_, submit := p.Submit(ctx)
	_, allocate := d.NewBuffer(16, Local)
	for what, err := range map[string]error{"Wait": ticket.Wait(ctx), "Run": p.Run(ctx), "Submit": submit, "NewBuffer": allocate,
		"Write": x.Write(ctx, 0, []byte{1}), "Read": x.Read(ctx, 0, []byte{1})} {
		var de *DeviceError
		if !errors.Is(err, ErrDeviceLost) || !errors.As(err, &de) || de.Running != "unlucky" {
			t.Errorf("%s: %v, want ErrDeviceLost while unlucky was running", what, err)
		}
	}
}

// Many goroutines share a device.
func TestGoroutines(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		var group sync.WaitGroup
		for g := range 6 {
			group.Go(func() {
				if err := exercise(d, uint32(g)); err != nil {
					t.Errorf("goroutine %d: %v", g, err)
				}
			})
		}
		group.Wait()
	})
}

// exercise creates, runs and frees programs and buffers. Several runs are in flight at a time.
func exercise(d *Device, seed uint32) error {
	ctx := context.Background()
	for round := range 5 {
		b, err := d.NewBuffer(4*33, Local)
		if err != nil {
			return err
		}
		out, err := d.NewBuffer(4*33, Readback)
		if err != nil {
			return err
		}
		p := d.NewProgram(fmt.Sprintf("exercise %d", seed))
		p.Fill(b.All(), seed)
		p.Dispatch(spinCall(b.All(), round))
		p.Copy(out.All(), b.All())
		if err := p.Build(); err != nil {
			return err
		}
		var tickets []*Ticket
		for range 8 {
			t, err := p.Submit(ctx)
			if err != nil {
				return err
			}
			tickets = append(tickets, t)
		}
		for i := range tickets {
			if err := tickets[len(tickets)-1-i].Wait(ctx); err != nil {
				return err
			}
		}
		raw := make([]byte, b.Size())
		if err := b.Read(ctx, 0, raw); err != nil {
			return err
		}
		copied := make([]byte, len(raw))
		if err := out.Read(ctx, 0, copied); err != nil {
			return err
		}
		if string(raw) != string(copied) {
			return errors.New("the copy differs")
		}
		want := spin(seed, 1664525, round)
		if got := uint32(raw[128]) | uint32(raw[129])<<8 | uint32(raw[130])<<16 | uint32(raw[131])<<24; got != want {
			return fmt.Errorf("got %d, want %d", got, want)
		}
		b.Free() // while other goroutines submit
		p.Free()
		out.Free()
	}
	return nil
}

// Close while other goroutines work: each call succeeds or returns ErrClosed.
func TestCloseInUse(t *testing.T) {
	for _, v := range variants[:3] {
		d := openTest(t, v.opts...)
		var group sync.WaitGroup
		for g := range 4 {
			group.Go(func() {
				for {
					if err := exercise(d, uint32(g)); err != nil {
						if !errors.Is(err, ErrClosed) {
							t.Errorf("%v, want ErrClosed", err)
						}
						return
					}
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		group.Wait()
	}
}
