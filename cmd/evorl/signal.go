package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// grace is how long a command may take to end after the first signal when it has nothing to save. A kernel that is being compiled cannot
// be stopped, and a large network may take minutes.
const grace = time.Second

// savingKey is the context's key of the flag that a command sets while it has something to save before it ends.
type savingKey struct{}

// withSignals ends the context at the first SIGINT or SIGTERM, and the process at the second. A command that has nothing to save ends with the
// first.
func withSignals(parent context.Context) (context.Context, func()) {
	var saving atomic.Bool
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, savingKey{}, &saving))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			number, ok := s.(syscall.Signal)
			if !ok {
				number = syscall.SIGINT
			}
			status := statusSignal + int(number)
			if ctx.Err() != nil {
				fmt.Fprintln(os.Stderr, "\nevorl: stopped at once; the last checkpoint is as it was")
				os.Exit(status)
			}
			cancel(&interrupted{number})
			go func() {
				for time.Sleep(grace); saving.Load(); time.Sleep(grace) {
				}
				os.Exit(status)
			}()
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// holdSignals lets a command finish what it does after the first signal, until the function returned is called.
func holdSignals(ctx context.Context) (release func()) {
	saving, ok := ctx.Value(savingKey{}).(*atomic.Bool)
	if !ok {
		return func() {}
	}
	saving.Store(true)
	return func() { saving.Store(false) }
}
