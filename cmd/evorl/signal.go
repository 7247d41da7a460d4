package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// withSignals ends the context at the first SIGINT or SIGTERM, so that a run can write a checkpoint, and the process at the second.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			number, ok := s.(syscall.Signal)
			if !ok {
				number = syscall.SIGINT
			}
			if ctx.Err() != nil {
				fmt.Fprintln(os.Stderr, "\nevorl: stopped at once; the last checkpoint is as it was")
				os.Exit(statusSignal + int(number))
			}
			cancel(&interrupted{number})
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}
