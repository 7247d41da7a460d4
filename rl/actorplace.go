package rl

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/cluster"
	"github.com/evorl/evorl/vk"
)

// place is where parts of the environments act: another device, or a worker elsewhere.
type place struct {
	device int // of the engine's; -1: a worker's
	name   string
	act    func(ctx context.Context, t *partTask) (*partResult, error)
	note   func(iteration, parts int, took time.Duration)
	close  func() error
	works  bool // it has begun
	busy   bool // it acts
	lost   bool

	run int         // of has
	has map[int]int // the iteration before which the place has the state of a part

	open map[int]bool // parts whose environments the place has, if they stay
}

// actorJob is what an actor is told to do. Its result is a partResult.
type actorJob struct {
	Run, Part, Iteration, Steps int
	Version                     int      // of the weights
	Weights                     [][]byte // of actingTensors; nil: the actor has this version
	State                       [][]byte // of envs.Joined.Carried; nil: the actor has it, or it stays where it is
	Anew                        bool     // new episodes begin, in environments that stay where they are
	Left                        []int    // parts whose environments the actor ends, since others act in them
}

// newDevicePlace is another device of this process.
func newDevicePlace(i int, dev *vk.Device, learner apart) *place {
	site := &actorSite{build: func(ctx context.Context) (apart, error) {
		w, err := learner.again(ctx, engine.New(dev, engine.Seed(learner.State().Engine().Seed())))
		if err != nil {
			return nil, err
		}
		return w.(apart), nil
	}}
	crew := learner.State().Engine().Crew()
	return &place{
		device: i, name: learner.State().Engine().DeviceName(i), close: site.close,
		act: func(ctx context.Context, t *partTask) (*partResult, error) {
			return site.do(ctx, t.job(site.version))
		},
		note: func(iteration, parts int, took time.Duration) {
			if crew != nil {
				crew.Note(i, iteration, parts, took)
			}
		},
	}
}

// newHandPlace is a worker elsewhere.
func newHandPlace(h *cluster.Hand) *place {
	version := 0
	return &place{
		device: -1, name: "worker " + h.Name(), close: func() error { return nil },
		note: h.Note,
		act: func(ctx context.Context, t *partTask) (*partResult, error) {
			data, err := encode(t.job(version))
			if err != nil {
				return nil, err
			}
			if data, err = h.Do(ctx, data); err != nil {
				h.Leave(nil) // unless it has left with a cause of its own
				return nil, err
			}
			version = t.weights.version
			var result partResult
			if err := decode(data, &result); err != nil {
				h.Leave(err)
				return nil, err
			}
			return &result, nil
		},
	}
}

// job returns the task as an actor that has a version of the weights is told it.
func (t *partTask) job(version int) *actorJob {
	j := &actorJob{
		Run: t.run, Part: t.part, Iteration: t.iteration, Steps: t.steps, Version: t.weights.version, State: t.state, Anew: t.anew, Left: t.left,
	}
	if version != t.weights.version {
		j.Weights = t.weights.all
	}
	return j
}

// actorSite acts, on a device of its own: by an agent of the same settings, which does not learn.
type actorSite struct {
	build   func(ctx context.Context) (apart, error)
	of      apart // nil: not made yet
	acts    []*engine.Program
	version int // of the weights; 0: none
}

// open makes the agent.
func (s *actorSite) open(ctx context.Context) (err error) {
	if s.of != nil {
		return nil
	}
	of, err := s.build(ctx)
	if err != nil {
		return err
	}
	s.of, s.acts = of, make([]*engine.Program, len(of.collects().rollout.Parts()))
	return s.of.State().Zero(ctx)
}

// do makes a part of the environments act.
func (s *actorSite) do(ctx context.Context, j *actorJob) (_ *partResult, err error) {
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	c := s.of.collects()
	if j.Part < 0 || j.Part >= len(s.acts) || j.Iteration < 0 || j.Weights == nil && j.Version != s.version {
		return nil, fmt.Errorf("rl: part %d of environments, iteration %d, version %d of the weights after %d: want one of %d parts, and the weights first",
			j.Part, j.Iteration, j.Version, s.version, len(s.acts))
	}
	parts := c.rollout.Parts()
	for _, i := range j.Left {
		if i < 0 || i >= len(parts) || i == j.Part {
			return nil, fmt.Errorf("rl: an actor of part %d of environments leaves part %d; want another of %d parts", j.Part, i, len(parts))
		}
		if err := parts[i].Leave(); err != nil {
			return nil, err
		}
	}
	if j.Anew {
		parts[j.Part].Renew()
	}
	if err := writeClock(ctx, c.acting, j.Iteration, j.Steps); err != nil {
		return nil, err
	}
	if j.Weights != nil {
		s.version = 0
		acts, _ := actingTensors(c.acts())
		if err := writeAll(ctx, acts, j.Weights); err != nil {
			return nil, err
		}
		s.version = j.Version
	}
	if j.State != nil {
		if err := writeAll(ctx, c.rollout.Carried(j.Part), j.State); err != nil {
			return nil, err
		}
	}
	if err = c.act(ctx, s.acts, j.Part); err != nil {
		return nil, err
	}
	result := &partResult{Fresh: parts[j.Part].Fresh()}
	if result.Written, err = readAll(ctx, parts[j.Part].Written()); err == nil {
		result.Carried, err = readAll(ctx, c.rollout.Carried(j.Part))
	}
	return result, err
}

func (s *actorSite) close() error {
	of, acts := s.of, s.acts
	s.of, s.acts = nil, nil
	for _, p := range acts {
		p.Free()
	}
	if of == nil {
		return nil
	}
	return of.Close()
}

// Act acts for a learner elsewhere (PPO, IMPALA, OffPolicy), whose engine has a crew, on the device of the engine, whose seed must be the run's: it joins under
// a name of its own once build has made an agent with the learner's settings (and the option ForActing), and what acts is compiled. It acts until the run
// ends, or ctx does, with the error of the connection.
//
// Errors: of build; of the device; of jobs that an agent of the settings cannot do.
func Act(
	ctx context.Context, eng *engine.Engine, jobs cluster.Jobs, name string, build func(ctx context.Context, eng *engine.Engine) (engine.Workflow, error),
) (err error) {
	site := &actorSite{build: func(ctx context.Context) (apart, error) {
		w, err := build(ctx, eng)
		if err != nil {
			return nil, err
		}
		of, ok := w.(apart)
		if !ok {
			return nil, errors.Join(fmt.Errorf("rl: %s has no actors; want an on-policy or off-policy agent", w.Describe().Workflow), w.Close())
		}
		return of, nil
	}}
	defer func() { err = errors.Join(err, site.close()) }()
	if err := site.open(ctx); err != nil {
		return err
	}
	program, err := site.of.collects().actor(site.acts, 0)
	if err == nil {
		err = program.Build()
	}
	if err != nil {
		return err
	}
	if _, _, err := jobs.Join(ctx, name); err != nil {
		return err
	}
	var result []byte
	for done := 0; ; done++ {
		number, data, err := jobs.Next(ctx, name, done, result)
		if err != nil {
			return err
		}
		var job actorJob
		if err := decode(data, &job); err != nil {
			return err
		}
		if number != done+1 {
			return fmt.Errorf("rl: job %d of an actor after job %d; want the next one", number, done)
		}
		of, err := site.do(ctx, &job)
		if err != nil {
			return fmt.Errorf("rl: acting for a learner elsewhere: %w", err)
		}
		if result, err = encode(of); err != nil {
			return err
		}
	}
}

func encode(of any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(of)
	return b.Bytes(), err
}

func decode(data []byte, to any) error { return gob.NewDecoder(bytes.NewReader(data)).Decode(to) }
