package envs

import (
	"context"
	"fmt"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// Environments that the host steps may act in two halves: the device evaluates the networks of one half while the host steps the other. Step t of half A is
// followed by step t of half B, whose actions the device draws while the host is at A's, and that by step t+1 of A. Each element of a
// result is computed from the same numbers in the same order as if all environments acted at once; halves for which the network would choose a product that
// sums in another order are not made.

// halves returns how many environments, in the order of [M, E], are in the first half; 0: there are none. Halves are of whole members or, if there is only
// one, of its environments. Their rows must begin where kernels can bind them.
func (ro *Rollout) halves(info vk.Info) int {
	c, environments := ro.cfg, ro.places()
	if !ro.env.outside || ro.env.Halves == AtOnce || ro.env.Halves == HalvesOnGPU && !info.Type.GPU() {
		return 0
	}
	if p := c.Policy; p != nil && (p.Perturbation != nil || p.Rows != nil) {
		return 0
	}
	unit, units, least := ro.env.Seats(), c.Environments, 1
	switch share := ro.share(); {
	case c.Members > share: // populations of one or more networks
		unit, units = share*environments, c.Members/share
	case share > 1:
		unit, units = environments, share
	case c.Policy != nil:
		least = 2 // a product of one row has a form of its own
	}
	if c.Policy != nil && slices.ContainsFunc(c.Policy.Network.Layers(), func(l nn.Layer) bool { return l.Precision != nn.Float32 }) {
		return 0 // products in float16 are for many rows
	}
	align := max(1, int(info.Limits.StorageAlignment)/4) // in words, a power of two
	fits := func(half int) bool {
		p, at := c.Policy, half*unit
		if p == nil {
			return true
		}
		member := at / environments
		words := at*ro.env.ObsSize() | at*ro.env.Observation.Words() | at*p.Network.Outputs() | at*p.Network.Memory() |
			member*4 | member/ro.share()*2*ro.env.ObsSize() // rows of parameters, which are multiples of four words, and of the normalizer
		if p.Network.Memory() > 0 {
			words |= at // of the words that say where episodes begin
		}
		return words%align == 0
	}
	for half := (units + 1) / 2; half >= least && half <= units-least; half-- {
		if fits(half) {
			return half * unit
		}
	}
	return 0
}

// half returns a half's environments.
func (ro *Rollout) half(i int) section {
	if i == 0 {
		return section{0, ro.split}
	}
	return section{ro.split, ro.cfg.Members*ro.places() - ro.split}
}

// actingPart evaluates the networks of a half of the environments.
type actingPart struct {
	network               *nn.Network
	populations, networks int // of each; as stepped has members and share
	rows                  int // of each network
	member                int // the first one, as kernels count members
	of                    section
}

// newActingParts makes the networks of both halves.
func newActingParts(s *engine.State, ro *Rollout) (parts []actingPart, err error) {
	c, environments, share := ro.cfg, ro.places(), ro.share()
	for i := range 2 {
		of := ro.half(i)
		p := actingPart{populations: 1, networks: share, rows: environments, member: of.first / environments, of: of}
		switch {
		case c.Members > share:
			p.populations = of.count / environments / share
		case share > 1:
			p.networks = of.count / environments
		default:
			p.rows = of.count
		}
		if p.network, err = nn.NewStack(s.Sub(fmt.Sprintf("half_%d", i)), c.Policy.Network, p.populations, p.networks, p.rows); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// evaluateHalf records what the policy puts out for the current observations of a half.
func (st *stepped) evaluateHalf(r *engine.Recorder, policy *Policy, half int) {
	p := st.parts[half]
	members, networks, rows := engine.Members(p.populations), nn.Networks(p.networks), engine.Environments(p.rows)
	part := func(of *engine.Tensor, axis string) *engine.Tensor {
		size := of.Size(axis)
		return of.Slice(p.of.first*size, members, networks, rows, engine.Axis(axis, size))
	}
	weights := policy.Weights
	if have, want := policy.Params.Size(engine.MemberAxis), st.observed.Size(engine.MemberAxis)*st.share; have != want {
		r.Fail(fmt.Errorf("envs: placement %v: parameters %v; want a row for each of %d members", PlacementStepped, policy.Params, want))
		return
	}
	weights.Params = policy.Params.Slice(p.member*policy.Row(), members, networks, engine.Axis("parameter", policy.Row()))
	inputs := nn.Inputs{Parts: []*engine.Tensor{part(st.observed, "feature")}, Element: st.element, Limit: policy.ObsLimit}
	if st.memory != nil {
		inputs.Memory, inputs.Begins = part(st.memory, "float"), st.begins
		inputs.Begins.Words = st.begins.Words.Slice(p.of.first, members, networks, rows)
	}
	if v := policy.Normalizer; v != nil {
		features := policy.Network.Inputs().Size()
		inputs.Normalizer = v.Slice(p.member/st.share*2*features, members, engine.Axis("moment", 2), engine.Axis("feature", features))
	}
	p.network.Evaluate(r, weights, inputs, part(st.outputs, "output"))
	st.expect(r, policy) // of both halves: those of the other one stay as they are
}

// halfStep is a step that a half takes.
type halfStep struct{ Step }

// halve tells the stepper of the halves.
func (h *hosted) halve(ctx context.Context) error {
	halver, ok := h.stepper.(Halver)
	if !ok {
		return fmt.Errorf("%T steps no halves, and the Spec has Halves; want an envs.Halver, or no Halves", h.stepper)
	}
	if h.ro.split == 0 {
		return halver.Halve(ctx, len(h.episodes))
	}
	h.halved = halver
	return halver.Halve(ctx, h.ro.split)
}

// recordHalves records steps that the halves take in turns.
func (h *hosted) recordHalves(r *engine.Recorder, act hostedActor, policy *Policy, steps int) {
	stage := func(f func(context.Context) error) { r.Host("step "+h.ro.env.Name, h.failing(f)) }
	var step engine.Counter
	r.Repeat(steps, func(r *engine.Recorder, i engine.Counter) {
		step = i
		for half := range 2 {
			h.keep(r, policy, i, h.ro.half(half), 1)
			if policy != nil {
				h.ro.stepped.evaluateHalf(r, policy, half)
			}
			act.record(r, i, h.ro.half(half))
			stage(func(ctx context.Context) error { return h.turn(ctx, half, steps) })
		}
	})
	r.Repeat(1, func(r *engine.Recorder, _ engine.Counter) {
		stage(func(ctx context.Context) error {
			if h.ended { // all that the halves did is kept
				return engine.ErrEndBlock
			}
			return h.wait(ctx, 1, steps)
		})
		h.keep(r, policy, step, h.ro.half(0), 1)
		h.keep(r, policy, step, h.ro.half(1), 1)
	})
}

// turn begins a half's step and waits for the other half's. It ends the rollout if all episodes of both are over.
func (h *hosted) turn(ctx context.Context, half, steps int) error {
	over := h.prepare(h.ro.half(half))
	if half == 0 {
		h.ended = over // as far as this half goes
	} else if h.ended = h.ended && over; h.ended {
		return engine.ErrEndBlock
	}
	if !over {
		h.taking[half] = &halfStep{h.step}
		if err := h.halved.Begin(ctx, half, &h.taking[half].Step); err != nil {
			return h.in(err, fmt.Sprintf("step %d of %d", h.taken+1, steps))
		}
	}
	if half == 1 {
		h.taken++
	} else if h.taken == 0 {
		return nil
	}
	return h.wait(ctx, 1-half, steps)
}

// wait waits for the end of a half's step and takes note of it.
func (h *hosted) wait(ctx context.Context, half, steps int) error {
	err := h.land(ctx, half)
	if err == nil {
		err = h.finish(ctx, h.ro.half(half))
	}
	return h.in(err, fmt.Sprintf("step %d of %d", h.taken, steps))
}

// land waits for the end of a half's step, if it takes one.
func (h *hosted) land(ctx context.Context, half int) error {
	taking := h.taking[half]
	if taking == nil {
		return nil
	}
	if err := h.halved.Wait(ctx, half); err != nil {
		return err
	}
	h.taking[half] = nil
	if err := taking.checkSlices(&h.step); err != nil {
		return fmt.Errorf("%T: %w", h.stepper, err)
	}
	return nil
}
