package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/internal/machines"
)

// course is what the coordinator measured.
type course struct {
	Began, Ended []time.Time // generations
	Shared       time.Time   // when the replica was there for those that join
	Digest       uint32
	Again        int64         // slices done twice
	CPU          time.Duration // of the measured generations, with the server and the coordinator's own worker
	Failed       int           // workers that were given up
}

// coordinate runs a study with a server of its own. serve is given its address, and workers are expected then.
func coordinate(ctx context.Context, s study, serve func(url string)) (*course, error) {
	server, err := machines.Listen(machines.Address{Host: "127.0.0.1:0"}, machines.Access{})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	conn, err := server.Connect(machines.Access{})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c, err := cluster.NewCoordinator(cluster.Config{Loose: s.Loose, Late: s.long(500 * time.Millisecond)}, leader)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	host, err := machines.Serve(conn, machines.Run{Name: runName, Config: []byte("virtual"), Digest: "virtual", Loose: s.Loose, Identity: identity}, c,
		machines.Timing{Lost: s.Lost})
	if err != nil {
		return nil, err
	}
	defer host.Close()
	serve(server.URL())
	for len(c.Status()) < s.Workers { // all begin with the first step
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	v := &virtual{study: s}
	if os.Getenv("SCALING_TELL") != "" {
		v.tell = func(text string) {
			fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), text, c.Totals(), processor())
		}
		v.tell("all there")
	}
	if v.worker, err = cluster.NewWorker(leader, c); err != nil {
		return nil, err
	}
	var before time.Duration
	timer := make(chan struct{})
	go func() { // after the generations that are not measured
		defer close(timer)
		for c.Totals().Slices < int64(warm*s.slices()) && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		before = processor()
	}()
	if err := v.steps(ctx, 0); err != nil {
		return nil, err
	}
	<-timer
	of := &course{Began: v.began, Ended: v.ended, Shared: v.joined, Digest: v.digest, Again: c.Totals().Again, CPU: processor() - before}
	for done := false; !done; time.Sleep(10 * time.Millisecond) { // the others have the last results, and leave
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		done = true
		for _, w := range c.Status()[1:] {
			done = done && w.Left
		}
	}
	for _, w := range c.Status() {
		if w.Cause != nil {
			of.Failed++
		}
	}
	host.Finish()
	return of, nil
}

// processor returns the processors' time of this process.
func processor() time.Duration {
	var of syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &of); err != nil {
		return 0
	}
	return time.Duration(of.Utime.Nano() + of.Stime.Nano())
}
