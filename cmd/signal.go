package cmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// grace is the time that a command with nothing to save has to end after the first signal. Compilation of a kernel
// cannot be stopped, and takes minutes for a large network.
const grace = time.Second

// savingKey is the context key of a flag that commands set while they have state to save before they end.
type savingKey struct{}

// withSignals cancels the context at the first SIGINT, SIGTERM or SIGHUP, and ends the process at the second. A command with
// nothing to save is ended by the first. A terminal that is closed sends SIGHUP twice, so a later one ends nothing; nohup
// makes the program ignore them all.
func withSignals(parent context.Context) (context.Context, func()) {
	var saving atomic.Bool
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, savingKey{}, &saving))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		for s := range signals {
			number, ok := s.(syscall.Signal)
			if !ok {
				number = syscall.SIGINT
			}
			status := statusSignal + int(number)
			if ctx.Err() != nil {
				if number == syscall.SIGHUP {
					continue
				}
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

// holdSignals lets a command finish its work after the first signal, until release is called, and also where who reads its output has gone away: writes then
// fail, where SIGPIPE would end the process.
func holdSignals(ctx context.Context) (release func()) {
	saving, ok := ctx.Value(savingKey{}).(*atomic.Bool)
	if !ok {
		return func() {}
	}
	saving.Store(true)
	pipe := make(chan os.Signal, 1) // never read: a signal that is notified, unlike an ignored one, is not inherited by processes that a run starts
	signal.Notify(pipe, syscall.SIGPIPE)
	return func() {
		signal.Stop(pipe)
		saving.Store(false)
	}
}
