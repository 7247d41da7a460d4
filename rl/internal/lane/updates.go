package lane

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// Agent is what decides whether updates from a replay are made in lanes: on software drivers, with networks that lanes can hold and enough work
// to repay the longer compilation.
type Agent struct {
	Info       vk.Info
	Members    int
	Updates    int // per iteration; 0: they must be made separately
	Batch      int // transitions per member and update
	Obs, Words int // floats of an observation, words of an action
}

// Updates makes many updates of agents in one dispatch (shaders/rl/internal/lane/update.glsl).
type Updates struct {
	Together int // updates per dispatch; 0: each is several dispatches of its own

	agent     Agent
	lanes     nn.Lanes
	gradients *engine.Tensor // [M, row]: of an update, of the critics and then of the actor
	record    func(r *engine.Recorder, common batches)
	measure   func(r *engine.Recorder) // nil: nothing
}

// On reports whether updates are made so.
func (u *Updates) On() bool { return u != nil && u.Together > 0 }

// Measure records the metrics of the last update that separate updates write themselves.
func (u *Updates) Measure(r *engine.Recorder) {
	if u.On() && u.measure != nil {
		u.measure(r)
	}
}

// Limits of these kernels.
const (
	maxUpdates = 64        // per dispatch
	maxBytes   = 128 << 20 // of the batches of a dispatch
)

// work describes an update in such a kernel.
type work struct {
	largest            nn.Model // of the networks, by inputs and by outputs
	bindings           int      // storage buffers of the kernel
	evaluated, learned int      // passes over the batch, of networks that are only evaluated and of those that learn
	noises             int      // normal random numbers per transition
	networks           int      // that the optimizers update
	shared             int      // floats of shared memory per transition
}

// plan decides on the number of updates per dispatch.
func (a Agent) plan(l nn.Lanes, err error, w work) *Updates {
	u := &Updates{agent: a, lanes: l}
	if err != nil || a.Info.Type != vk.CPU || !a.Info.Features.Has(vk.Int64) || a.Members*a.Updates*a.Batch < Worth || l.LayerNorm {
		return u
	}
	if l.Lanes == 0 || l.Lanes%blockRows != 0 || a.Info.Limits.MaxBindings < uint32(w.bindings) || 4*w.shared*a.Batch > int(a.Info.Limits.MaxSharedBytes) {
		return u
	}
	batch := 4 * a.Members * a.Batch * (2*a.Obs + a.Words + 3)
	most := min(maxUpdates, maxIterations/w.iterations(a.Batch, int(l.Lanes)), maxBytes/batch, a.Updates)
	if most < 1 {
		return u
	}
	dispatches := (a.Updates + most - 1) / most
	u.Together = (a.Updates + dispatches - 1) / dispatches
	return u
}

// iterations returns the loop iterations of an update: passes over the batch, drawing noise, and Adam over all parameters, four at a time.
func (w work) iterations(batch, lanes int) int {
	groups, philox := (batch+lanes-1)/lanes, 10*(1+(2*w.noises+3)/4)
	evaluated, learned := groups*(1+lanes), groups*(1+lanes/blockRows+lanes)
	rows := 2 * w.largest.Layers()[0].Out / lanes // of matrices that are loaded and stored
	return w.evaluated*(evaluated+rows) + w.learned*(learned+rows) + 2*groups*(1+philox) + w.networks*w.largest.Size()/(4*lanes) + 64
}

// Scope returns the scope for the agent's networks, which must be in one buffer.
func (u *Updates) Scope(s *engine.State) *engine.State {
	if u.On() {
		return s.Contiguous()
	}
	return s
}

// begin makes the gradient of parameters in rows of `row` floats, unless a kernel cannot bind all parameters.
func (u *Updates) begin(s *engine.State, params *engine.Tensor, row int) bool {
	if !bindable(u.agent.Info, params) {
		u.Together = 0
	}
	if u.Together > 0 {
		u.gradients = s.Cleared("gradients", engine.Float32, engine.Members(u.agent.Members), engine.Axis("parameter", row))
	}
	return u.Together > 0
}

// Batch is what a replay draws for several updates: [updates, M, B, …].
type Batch struct{ Obs, NextObs, Action, Reward, Factor *engine.Tensor }

// batches are the fields of kernels for the batches of a dispatch.
type batches struct {
	Obs, NextObs, Action, Reward, Factor, Chunk vk.Range
	Count, Together                             uint32
}

// Record records the updates of chunk number chunk [1] u32. updates is their number in the iteration; the last chunk may have fewer than Together.
func (u *Updates) Record(r *engine.Recorder, b Batch, chunk *engine.Tensor, updates int) {
	together, _, _, _ := b.Obs.Split(engine.MemberAxis)
	u.record(r, batches{
		Obs: b.Obs.Range(), NextObs: b.NextObs.Range(), Action: b.Action.Range(), Reward: b.Reward.Range(), Factor: b.Factor.Range(),
		Chunk: chunk.Range(), Count: uint32(updates), Together: uint32(together),
	})
}

// learned are the fields of kernels that all of them have.
type learned struct {
	Params, Updated4, Gradient, Summed         vk.Range
	RewardScale, Tau, Clock, Norm, Value, Loss vk.Range
	In, Out, Batch, LocalSizeX                 uint32
	Halved                                     bool
}
