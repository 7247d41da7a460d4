package dmenvrpc

import (
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// create makes a world. It lives until it is destroyed, or until the stream that created it has ended and nobody is in it.
func (c *session) create(of *pb.CreateWorldRequest) (name string, err error) {
	seed, err := seedIn(of.GetSettings())
	if err != nil {
		return "", &requestError{invalid, err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.worlds) >= c.cfg.Worlds {
		return "", refuse(codes.ResourceExhausted, "there are %d worlds, as many as this server has; destroy one", len(c.worlds))
	}
	batch, err := envs.NewBatch(c.ctx, c.dev, c.env, 1, 1, c.cfg.Options)
	if err != nil {
		return "", err
	}
	w := &world{batch: batch, served: c.served, creator: c, seed: c.cfg.Seed}
	if c.created > 0 {
		w.seed = engine.Philox([2]uint32{c.cfg.Seed, c.created}, [4]uint32{2})[0]
	}
	c.created++
	w.name = fmt.Sprintf("%s-%d", c.env.Name, c.created)
	w.restart(seed)
	c.worlds[w.name] = w
	return w.name, nil
}

// find returns a world; the server's mutex is held.
func (c *session) find(name string) (*world, error) {
	w := c.worlds[name]
	if w == nil {
		return nil, refuse(missing, "there is no world %q; want one that create_world has made", name)
	}
	return w, nil
}

func (c *session) join(of *pb.JoinWorldRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range of.GetSettings() {
		return refuse(invalid, "setting %q; want none", name)
	}
	if c.joined != nil {
		return refuse(unready, "the stream has joined world %q; want leave_world before", c.joined.name)
	}
	w, err := c.find(of.GetWorldName())
	if err != nil {
		return err
	}
	if w.joined != nil {
		return refuse(unready, "world %q has its agent; want one without", w.name)
	}
	w.joined, c.joined = c, w
	return nil
}

// within returns the world that the stream has joined; the server's mutex is held.
func (c *session) within(what string) (*world, error) {
	if c.joined == nil {
		return nil, refuse(unready, "%s without a world; want join_world before", what)
	}
	return c.joined, nil
}

func (c *session) step(of *pb.StepRequest) (*pb.StepResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, err := c.within("step")
	if err != nil {
		return nil, err
	}
	if err := checkRequested(of.GetRequestedObservations()); err != nil {
		return nil, &requestError{invalid, err}
	}
	state, err := w.step(c.ctx, of)
	if err != nil {
		return nil, err
	}
	return &pb.StepResponse{State: state, Observations: c.served.tensors(w.last, of.GetRequestedObservations())}, nil
}

func (c *session) reset(of *pb.ResetRequest) error {
	seed, err := seedIn(of.GetSettings())
	if err != nil {
		return &requestError{invalid, err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w, err := c.within("reset")
	if err != nil {
		return err
	}
	if seed != nil || w.running {
		w.restart(seed)
	}
	w.interrupted() // it begins a sequence, as they have asked
	return nil
}

// resetWorld resets a world; another stream's agent in a sequence is told so by its next step, which is waited for.
func (c *session) resetWorld(of *pb.ResetWorldRequest) error {
	seed, err := seedIn(of.GetSettings())
	if err != nil {
		return &requestError{invalid, err}
	}
	c.mu.Lock()
	w, err := c.find(of.GetWorldName())
	if err != nil {
		c.mu.Unlock()
		return err
	}
	told := w.joined == nil || w.joined == c || !w.running
	w.restart(seed)
	if told {
		c.mu.Unlock()
		return nil
	}
	stepped := make(chan struct{})
	w.others = append(w.others, stepped)
	c.mu.Unlock()
	select {
	case <-stepped:
		return nil
	case <-c.ctx.Done():
		return &requestError{codes.Canceled, c.ctx.Err()}
	}
}

// leave leaves the world, if there is one; the server's mutex is held.
func (c *session) leave() {
	w := c.joined
	if w == nil {
		return
	}
	w.joined, c.joined = nil, nil
	w.restart(nil)
	w.interrupted()
	if w.creator == nil {
		c.remove(w)
	}
}

func (c *session) destroy(of *pb.DestroyWorldRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, err := c.find(of.GetWorldName())
	if err != nil {
		return err
	}
	if w.joined != nil {
		return refuse(unready, "world %q has an agent; want leave_world before", w.name)
	}
	c.remove(w)
	return nil
}

func (c *session) remove(w *world) {
	delete(c.worlds, w.name)
	w.batch.Close()
}

// end leaves the world, and removes those that the stream created and nobody is in.
func (c *session) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave()
	for _, w := range c.worlds {
		if w.creator != c {
			continue
		}
		if w.creator = nil; w.joined == nil {
			c.remove(w)
		}
	}
}
