package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/internal/machines"
)

// study is what one measurement does.
type study struct {
	Workers     int           // with the coordinator's own
	Each        int           // slices a worker
	Slice       time.Duration // of one
	Bytes       int           // of a slice's result
	State       int           // bytes of the replica, or of a member
	Latency     time.Duration // one way
	Rate        float64       // bits a second of a worker's link; 0: not limited
	Generations int
	Loose       bool          // the replica is sent in every generation
	Dies        int           // workers that die in the generation in the middle, without a word
	Lost        time.Duration // without a sign of life, after which a worker is given up; 0: as in real runs
	Members     int           // of a slice; 0: slices are of candidates
	Interval    int           // iterations of members between exchanges of PBT; 0: there are none
	Times       string        // file of the slices' times, see record; "": all take as long
	Dilation    float64       // all times of the study are as many times as long, so that processors are as many times as fast

	times [][]time.Duration // of Times
}

// long returns how long a time of the study takes.
func (s study) long(d time.Duration) time.Duration { return time.Duration(float64(d) * s.Dilation) }

// short returns what a time that was measured is of the study.
func (s study) short(d time.Duration) time.Duration { return time.Duration(float64(d) / s.Dilation) }

func (s study) slices() int { return s.Workers * s.Each }

const (
	runName = "scaling"
	leader  = "coordinator"
	warm    = 2 // generations that are not measured
)

var identity = machines.Identity{Version: "1", Device: "virtual"}

// result is what a slice evaluates to, the same for whoever does it.
func (s study) result(step, slice int) []byte {
	data := make([]byte, s.Bytes)
	x := uint64(step)<<32 | uint64(slice)
	for at := 0; at < len(data); at += 8 {
		x = (x + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], x^x>>31)
		copy(data[at:], word[:])
	}
	return data
}

var errDead = errors.New("dead")

// virtual is a worker that sleeps as long as others compute.
type virtual struct {
	study   study
	worker  *cluster.Worker
	digest  uint32      // of all results
	began   []time.Time // steps
	ended   []time.Time // steps, when their results were there
	joined  time.Time
	traffic traffic
	tell    func(string) // nil: nothing
	mortal  bool
	dies    func() // cuts its connection; nil: it lives
}

var table = crc32.MakeTable(crc32.Castagnoli)

// steps goes through the generations.
func (v *virtual) steps(ctx context.Context, first int) error {
	for step := first; step < v.study.Generations+warm; step++ {
		v.began = append(v.began, time.Now())
		if _, err := v.worker.Sync(ctx, step, func() ([]byte, error) { return make([]byte, v.study.State), nil }); err != nil {
			return err
		}
		if step == first {
			v.joined = time.Now()
		}
		results, err := v.worker.Step(ctx, step, v.study.slices(), "", func(ctx context.Context, slice int) ([]byte, error) {
			if v.dies != nil && step == v.study.Generations/2+warm {
				select {
				case <-time.After(v.study.long(v.study.Slice) / 2):
				case <-ctx.Done():
				}
				v.dies()
				return nil, errDead
			}
			select {
			case <-time.After(v.study.long(v.study.time(step, slice))):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return v.study.result(step, slice), nil
		})
		if err != nil {
			return err
		}
		v.ended = append(v.ended, time.Now())
		if v.tell != nil {
			v.tell(fmt.Sprintf("generation %d: %v", step, v.ended[len(v.ended)-1].Sub(v.began[len(v.began)-1])))
		}
		for _, of := range results {
			v.digest = crc32.Update(v.digest, table, of)
		}
	}
	return nil
}

// connect connects a worker by a link of the study.
func (s study) connect(url string, of *traffic) (*nats.Conn, error) {
	through := &dialer{s.long(s.Latency), s.Rate / s.Dilation, of}
	return nats.Connect(url, nats.SetCustomDialer(through), nats.MaxReconnects(-1), nats.Timeout(time.Minute), nats.PingInterval(time.Minute))
}

// take takes part in the run at a server.
func (v *virtual) take(ctx context.Context, url, name string) error {
	conn, err := v.study.connect(url, &v.traffic)
	if err != nil {
		return err
	}
	defer conn.Close()
	link, err := machines.NewLink(conn, runName, name, identity, machines.Timing{Lost: v.study.Lost}, func(string) {})
	if err != nil {
		return err
	}
	defer link.Close()
	if v.worker, err = cluster.NewWorker(name, link); err != nil {
		return err
	}
	if _, err := link.Hello(ctx); err != nil {
		return err
	}
	if v.mortal {
		v.dies = conn.Close
	}
	first, _, err := v.worker.Join(ctx)
	if err != nil {
		return err
	}
	v.joined = time.Now()
	joined := v.joined
	if err := v.steps(ctx, first); errors.Is(err, errDead) {
		return nil
	} else if err != nil {
		return fmt.Errorf("worker %s: %w", name, err)
	}
	v.joined = joined
	link.Leave(name, nil)
	return nil
}

// group is what workers of a process measured.
type group struct {
	Workers  int
	Digests  []uint32 // that occur
	Joined   time.Time
	Ended    []time.Time // generations, when the last worker had their results
	Down, Up int64       // bytes
	CPU      time.Duration
}

// takeAll lets n workers take part.
func takeAll(ctx context.Context, s study, url string, first, n int) (group, error) {
	all := make([]*virtual, n)
	errs := make([]error, n)
	var busy sync.WaitGroup
	for i := range all {
		all[i] = &virtual{study: s, mortal: first+i <= s.Dies}
		busy.Go(func() { errs[i] = all[i].take(ctx, url, fmt.Sprint("w", first+i)) })
	}
	busy.Wait()
	g := group{Workers: n, CPU: processor()}
	for _, v := range all {
		if v.dies == nil {
			g.add(v)
		}
	}
	return g, errors.Join(errs...)
}

func (g *group) add(v *virtual) {
	known := false
	for _, d := range g.Digests {
		known = known || d == v.digest
	}
	if !known {
		g.Digests = append(g.Digests, v.digest)
	}
	if v.joined.After(g.Joined) {
		g.Joined = v.joined
	}
	for i, at := range v.ended {
		if i == len(g.Ended) {
			g.Ended = append(g.Ended, at)
		}
		if at.After(g.Ended[i]) {
			g.Ended[i] = at
		}
	}
	g.Down += v.traffic.down.Load()
	g.Up += v.traffic.up.Load()
}
