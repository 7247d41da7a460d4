package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/hybrid"
	"github.com/evorl/evorl/internal/machines"
	"github.com/evorl/evorl/vk"
)

// lap is an iteration of members.
type lap struct {
	Took      time.Duration
	Exchanged bool  // it began with an exchange of PBT
	In, Out   int64 // bytes of messages, from all workers and to them
}

// divided is what the coordinator of members measured.
type divided struct {
	Laps []lap
	CPU  time.Duration // of the measured iterations
}

// open opens the device on which members sleep: it does little but count.
func open() (*vk.Device, error) { return vk.Open(vk.OneThread()) }

// divide runs a study of members with a server of its own. serve is given its address, and workers are expected then.
func divide(ctx context.Context, s study, serve func(url string)) (_ *divided, err error) {
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
	dev, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	crew := cluster.NewCrew(leader)
	crew.Open()
	defer crew.Close()
	inner, err := hybrid.NewSlices(ctx, engine.New(dev, engine.Seed(1), engine.Assisted(crew)), s.slices()*s.Members, s.Members, s.build)
	if err != nil {
		return nil, err
	}
	w, err := s.population(ctx, inner)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	host, err := machines.Serve(conn, machines.Run{Name: runName, Config: []byte("virtual"), Digest: "virtual", Identity: identity, Status: crew.Status}, crew,
		machines.Timing{})
	if err != nil {
		return nil, err
	}
	defer host.Close()
	serve(server.URL())
	for len(crew.Hands()) < s.Workers-1 {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err := w.Init(ctx); err != nil {
		return nil, err
	}
	of := &divided{}
	var before lap
	var cpu time.Duration
	for i := range warm + s.Generations {
		if i == warm {
			cpu = processor()
		}
		began := time.Now()
		ticket, err := w.Step(ctx, i)
		if err == nil {
			err = ticket.Wait(ctx)
		}
		if err != nil {
			return nil, err
		}
		now := lap{Took: time.Since(began), Exchanged: s.exchanges(i)}
		if err := now.count(ctx, conn); err != nil {
			return nil, err
		}
		of.Laps = append(of.Laps, lap{now.Took, now.Exchanged, now.In - before.In, now.Out - before.Out})
		before = now
	}
	of.CPU = processor() - cpu
	if n := len(crew.Hands()); n != s.Workers-1 {
		return nil, fmt.Errorf("%d workers are there at the end; want %d", n, s.Workers-1)
	}
	if err := check(ctx, w, warm+s.Generations); err != nil {
		return nil, err
	}
	host.Finish()
	return of, nil
}

// count reads how many bytes have come and gone so far.
func (l *lap) count(ctx context.Context, conn *nats.Conn) error {
	status, err := machines.ReadStatus(ctx, conn, runName)
	if err != nil {
		return err
	}
	for _, w := range status.Workers {
		l.In, l.Out = l.In+w.In, l.Out+w.Out
	}
	return nil
}

// help takes part in the run of members at a server.
func help(ctx context.Context, dev *vk.Device, s study, url, name string, of *traffic) error {
	conn, err := s.connect(url, of)
	if err != nil {
		return err
	}
	defer conn.Close()
	link, err := machines.NewLink(conn, runName, name, identity, machines.Timing{}, func(string) {})
	if err != nil {
		return err
	}
	defer link.Close()
	if _, err := link.Hello(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-link.Ended():
			stop(machines.ErrEnded)
		case <-ctx.Done():
		}
	}()
	err = hybrid.Assist(ctx, engine.New(dev, engine.Seed(1)), link, name, s.Members, 1, s.build)
	link.Leave(name, nil)
	if errors.Is(err, machines.ErrEnded) || errors.Is(context.Cause(ctx), machines.ErrEnded) {
		return nil
	}
	return fmt.Errorf("worker %s: %w", name, err)
}

// helpAll lets n workers take part.
func helpAll(ctx context.Context, s study, url string, first, n int) (g group, err error) {
	dev, err := open()
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	links, errs := make([]traffic, n), make([]error, n)
	var busy sync.WaitGroup
	for i := range n {
		busy.Go(func() { errs[i] = help(ctx, dev, s, url, fmt.Sprint("w", first+i), &links[i]) })
	}
	busy.Wait()
	g = group{Workers: n, CPU: processor()}
	for i := range links {
		g.Down, g.Up = g.Down+links[i].down.Load(), g.Up+links[i].up.Load()
	}
	return g, errors.Join(errs...)
}
