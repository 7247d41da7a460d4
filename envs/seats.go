package envs

import (
	"errors"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// seatsSample is the environment of several agents among the embedded shaders, from which the kernels' declarations are
// generated. It is not registered.
const seatsSample = "SeatsSample-v0"

// seated reports whether the environment is stepped by the kernels for several agents, which also step those whose state stays in the buffer.
func (e *Environment) seated() bool { return !e.outside && (e.Seats() > 1 || e.stored) }

// seated is the form of a rollout in worlds of several agents, and of those whose state stays in the buffer (shaders/envs/stored.glsl). At each step the
// networks are evaluated for all seats, as batched products (stepped) or row by row (rows), and a second kernel turns their outputs into actions and steps
// the worlds.
type seated struct {
	*Rollout
	world    *engine.Tensor // [M, E]: an EpisodeWord of each world
	outputs  *engine.Tensor // [M, E·A, Out], of networks that the kernel evaluates itself; nil: there are none
	streamed int            // loop iterations of an invocation for them in a step
	observed *engine.Tensor // [.., E·A, O]: what to act on next
	began    engine.Clock   // of the first episodes
}

// seatSteps are the steps of a recording, as in Rollout.record.
type seatSteps struct {
	before, steps  int
	begin          bool
	firstCandidate int
}

// newSeated makes the form's tensors.
func (ro *Rollout) newSeated(s *engine.State) error {
	env, c := ro.env, ro.cfg
	if n := ro.seatIterations(); n > maxIterations {
		return fmt.Errorf("envs: a step of %q takes an invocation %d loop iterations, with the observations of %d seats; want at most %d",
			env.Name, n, env.Seats(), maxIterations)
	}
	tensor := s.Tensor
	if c.Begin {
		tensor = s.Scratch
	}
	p, e := engine.Members(c.Members), engine.Environments(c.Environments)
	seated := &seated{Rollout: ro}
	seated.world = tensor("world_step", engine.Uint32, p, e)
	if ro.stepped != nil {
		seated.observed = ro.stepped.observed
	} else {
		seated.observed = s.Scratch("observed", engine.Float32, p, engine.Environments(c.Environments*env.Seats()), engine.Axis("feature", env.ObsSize()))
	}
	if c.Policy != nil && ro.stepped == nil {
		if err := ro.streamable(c.Policy); err != nil {
			return fmt.Errorf("envs: placement %v in %q: %w; want %v", c.Policy.Placement, env.Name, err, PlacementStepped)
		}
		model := c.Policy.Network
		of, err := nn.StreamOf(model, s.Engine().Device().Info(), c.Environments)
		if err != nil {
			return fmt.Errorf("envs: placement %v in %q: %w; want %v, or %v for any network", c.Policy.Placement, env.Name, err, Automatic, PlacementStepped)
		}
		seated.outputs = s.Scratch("outputs", engine.Float32, p, engine.Environments(c.Environments*env.Seats()), engine.Axis("output", model.Outputs()))
		seated.streamed = env.Seats() * of.Iterations
	}
	if c.Trajectory && env.Global > 0 {
		t, g := engine.Time(c.Horizon), engine.Axis("feature", env.Global)
		ro.Global = s.Scratch("global", engine.Float32, t, p, e, g)
		ro.NextGlobal = s.Scratch("next_global", engine.Float32, t, p, e, g)
	}
	seated.began = engine.ScratchClock(s, "began")
	ro.seated = seated
	return s.Err()
}

// seatIterations returns a bound on the loop iterations of an invocation in a dispatch.
func (ro *Rollout) seatIterations() int {
	const (
		loops    = 12 // over seats
		features = 5  // loops over the features of each
	)
	e := ro.env
	return ro.options.ActionRepeat*(1+e.Seats()) + (ro.options.ActionRepeat+2)*e.Iterations + e.Seats()*(loops+features*e.ObsSize()) + e.transfers()
}

// record records steps of all worlds.
func (st *seated) record(r *engine.Recorder, clock engine.Clock, policy *Policy, s seatSteps) {
	k, err := st.kernel(r, clock, policy, s.firstCandidate)
	if err != nil {
		r.Fail(err)
		return
	}
	size, groups := r.Invocations(st.cfg.Members * st.cfg.Environments)
	of := k // begins episodes, and writes the observations that the first step is to act on
	of.LocalSizeX, of.Begin, of.First = size, s.begin, uint32(s.before)
	r.Dispatch(of.call(st.shader, groups, 1, 1))
	k.Step = true
	if k.Policy == seatsNetwork {
		st.stream(r, k, policy, s)
		return
	}
	k.LocalSizeX, k.Steps = size, 1
	if k.Policy == policyRandom {
		if s.before == 0 {
			st.stepped.remember(r, st.Rollout)
		}
		st.inDispatches(r, k, groups, nil, st.seatIterations(), s)
		return
	}
	var draw actLogitsKernel
	if st.drawer != nil {
		draw = st.drawer.kernel(r, policy, s.firstCandidate)
	}
	if s.before == 0 {
		st.stepped.remember(r, st.Rollout)
	}
	for t := range s.steps {
		if policy != nil {
			if policy.Matches != nil {
				policy.Matches.record(r, st, clock, s.before+t)
			}
			st.stepped.evaluate(r, policy)
		}
		k.First = uint32(s.before + t)
		if st.drawer != nil {
			st.drawer.record(r, draw, k.Clock, k.First)
		}
		r.Dispatch(k.call(st.shader, groups, 1, 1))
		if st.drawer != nil && st.cfg.Trajectory {
			st.drawer.keep(r, st.LogProb, k.First)
		}
	}
}

// stream records steps in which the kernel evaluates the networks, many in a dispatch.
func (st *seated) stream(r *engine.Recorder, k seatsRolloutKernel, policy *Policy, s seatSteps) {
	c, lanes := st.cfg, r.Engine().Device().Info().SubgroupSize
	k.LocalSizeX, k.Lanes = lanes, lanes
	groups := c.Members * ((c.Environments + int(lanes) - 1) / int(lanes))
	st.inDispatches(r, k, uint32(groups), policy, st.seatIterations()+st.streamed, s)
}

// inDispatches records steps, many in a dispatch. A step takes an invocation the given loop iterations.
func (st *seated) inDispatches(r *engine.Recorder, k seatsRolloutKernel, groups uint32, policy *Policy, iterations int, s seatSteps) {
	most := st.dispatchSteps(r.Engine().Device().Info(), policy, iterations)
	for done := 0; done < s.steps; done += most {
		k.First, k.Steps = uint32(s.before+done), uint32(min(most, s.steps-done))
		call := k.call(st.shader, groups, 1, 1)
		if policy != nil {
			call.Subgroup = k.Lanes
		}
		r.Dispatch(call)
	}
}

// kernel returns the kernel of a step.
func (st *seated) kernel(r *engine.Recorder, clock engine.Clock, policy *Policy, firstCandidate int) (seatsRolloutKernel, error) {
	c, o, ro := st.cfg, st.options.constants(), st.Rollout
	k := seatsRolloutKernel{
		ActionScale: ro.scale.Range(), Clock: clock.Tensor().Range(), EnvState: ro.state.Range(), WorldStep: st.world.Range(),
		EpisodeStep: ro.step.Range(), EpisodeReturn: ro.ret.Range(), Observed: st.observed.Range(), Finished: ro.finished.Range(),
		Members: uint32(c.Members), Environments: uint32(c.Environments), ParamsPeriod: uint32(c.Members),
		Seed: r.Engine().Seed(), EnvStream: ro.stream, ActionStream: ro.actionStream,
		TimeLimit: o.timeLimit, ActionRepeat: o.actionRepeat, AutoReset: o.autoReset, SparseReward: o.sparseReward, RewardScale: o.rewardScale,
		Share: uint32(ro.share()),
		Mode:  c.Mode, Trajectory: c.Trajectory, Policy: seatsOutputs, Applied: c.Actions == Applied,
	}
	ro.env.setOptions(&k.Option0, &k.Option1, &k.Option2, &k.Option3, &k.Option4, &k.Option5,
		&k.Option6, &k.Option7, &k.Option8, &k.Option9, &k.Option10, &k.Option11)
	if policy == nil {
		k.Policy = policyRandom
	}
	k.DrawWindow, k.DrawStride, k.DrawFirst, k.DrawStep = ro.draws(firstCandidate)
	if c.Trajectory {
		k.Obs, k.Action, k.LogProb = ro.Obs.Range(), ro.Action.Range(), ro.LogProb.Range()
		k.Reward, k.Done, k.NextObs = ro.Reward.Range(), ro.Done.Range(), ro.NextObs.Range()
	}
	if ro.Global != nil {
		k.Global, k.NextGlobal = ro.Global.Range(), ro.NextGlobal.Range()
	}
	if ro.cap != nil {
		k.Cap = ro.cap.Range()
	}
	if ro.seen != nil {
		k.Seen = ro.seen.Range()
	}
	if ro.skip != nil {
		k.Skip = ro.skip.Range()
	}
	head := ro.env.Action.Head()
	if policy != nil {
		if err := policy.check(ro.env); err != nil {
			return k, err
		}
		info := r.Engine().Device().Info()
		n, err := ro.network(policy, info)
		if err != nil {
			return k, err
		}
		if err := st.checkRows(policy); err != nil {
			return k, err
		}
		if policy.Rows != nil {
			k.Rows = policy.Rows.Range()
			k.Scripts = policy.Matches != nil && policy.Matches.cfg.Scripted+policy.Matches.cfg.Random > 0
		}
		if ro.stepped != nil && ro.stepped.together != nil {
			together := ro.stepped.together
			k.Rows, k.EachSeat = together.rows.Range(), true
			k.Share *= uint32(ro.env.Seats())
		}
		head = policy.Head
		k.ParamsPeriod = policy.owners()
		k.Params, k.Row, k.HeadBase = policy.head()
		if n.placement == PlacementStream {
			if st.outputs == nil || st.outputs.Size("output") != policy.Network.Outputs() {
				return k, fmt.Errorf("envs: a policy of %d outputs acts in %q; want one of those that the rollout was made for (RolloutConfig.Policy)",
					policy.Network.Outputs(), ro.env.Name)
			}
			of := n.stream
			k.Policy, k.Outputs, k.ObsLimit = seatsNetwork, st.outputs.Range(), policy.ObsLimit
			k.Hidden1, k.Activation, k.LayerNorm = 1, of.Activation, of.LayerNorm
			k.StreamRows, k.StreamQuads, k.StreamOneTurn, k.StreamAligned = of.Rows, of.Quads, of.OneTurn, of.Aligned
			k.StreamLayers, k.StreamHidden = of.Layers, of.Hidden
		} else {
			var by *engine.Tensor
			by, head = ro.stepped.chosenBy(policy)
			k.Outputs = by.Range()
		}
		if policy.Normalizer != nil && (n.placement == PlacementStream || ro.seen != nil) {
			k.Normalizer = policy.Normalizer.Range()
		}
		if head.Noise != nil {
			k.Noise = head.Noise.Range()
		}
	}
	outputs, h := uint32(head.Outputs()), head.Constants()
	if ro.drawer != nil {
		k.Policy, k.Outputs, k.Noise = seatsOutputs, ro.drawer.drawn.Range(), vk.Range{}
		outputs, h = drawnHead()
	}
	k.Out, k.Head, k.HeadWidth, k.Squash, k.Explore = outputs, h.Head, h.HeadWidth, h.Squash, h.Explore
	k.LogStdLow, k.LogStdHigh, k.NoiseLimit = h.LogStdLow, h.LogStdHigh, h.NoiseLimit
	k.HeadAtoms, k.HeadDueling = h.HeadAtoms, h.HeadDueling
	return k, nil
}

// Policies of shaders/envs/seats_rollout.comp, besides policyRandom.
const (
	seatsOutputs uint32 = 0
	seatsGiven   uint32 = 2
	seatsNetwork uint32 = 3
)

// streamable returns an error if the kernel of a world of several agents cannot evaluate the networks of a policy itself.
func (ro *Rollout) streamable(policy *Policy) error {
	switch {
	case policy.Rows != nil || ro.cfg.EachSeat:
		return errors.New("the seats of a world have networks of their own")
	case policy.Perturbation != nil:
		return errors.New("networks are of low rank")
	case policy.Network.Memory() > 0:
		return errors.New("networks have memory")
	}
	return nil
}

// streams reports whether the kernel evaluates the networks itself, many steps in a dispatch, unless a placement is requested: on software drivers, where a
// dispatch takes as long as small networks do. Microseconds of CPU time, and of time, a step of all worlds of SimpleSpread-v3, on a busy machine
// (Mesa 22.3.6, two threads, BenchmarkSeats):
//
//	worlds        16                64                 256                  1024
//	         stream  stepped   stream  stepped     stream  stepped      stream  stepped
//	[64, 64]   88 147 115 242   305 443 257 527   1160 1230 930 2190   4550 4170 2720 3900
//	[256, 256] 423 719 573 2050 1670 1900 1190 3250 6590 6360 3820 6770 27200 24600 14700 19300
func (ro *Rollout) streams(policy *Policy, info vk.Info) bool {
	const most = 256 // rows, three of a world
	if info.Type.GPU() || ro.streamable(policy) != nil || ro.cfg.Members*ro.cfg.Environments*ro.env.Seats() > most {
		return false
	}
	_, err := nn.StreamOf(policy.Network, info, ro.cfg.Environments)
	return err == nil
}

// checkRows checks who plays.
func (st *seated) checkRows(policy *Policy) error {
	c, rows := st.cfg, policy.Rows
	switch {
	case (rows != nil) != (st.stepped != nil && st.stepped.indexed != nil):
		return fmt.Errorf("envs: rows %v play in %q; want them, or none, also in the policy of RolloutConfig", rows, st.env.Name)
	case policy.Matches != nil && policy.Matches.rows != rows:
		return fmt.Errorf("envs: rows %v play in %q; want those of the policy's matches", rows, st.env.Name)
	case rows != nil && (rows.Len() != c.Members*c.Environments*st.env.Seats() || c.Window != nil || c.Policies > 1):
		return fmt.Errorf("envs: rows %v play in %q; want one for each of %d members × %d environments × %d seats, and neither windows nor several policies",
			rows, st.env.Name, c.Members, c.Environments, st.env.Seats())
	}
	return nil
}

// seatFunctions returns the declarations of the functions that GLSL of several agents must define.
func (e *Environment) seatFunctions() []string {
	action := "const float action[AGENTS][ACTION_SIZE]"
	if e.Action.IsDiscrete() {
		action = "const uint action[AGENTS]"
	}
	if e.stored {
		functions := []string{
			"void env_reset(inout Rng rng)", "void env_step(" + action + ", inout Rng rng, out float reward[AGENTS], out bool terminated)",
			"void env_observe(uint seat)", "bool env_alive(uint seat)",
		}
		if e.shaped {
			functions = append(functions, "float env_shaped(uint seat, uint steps)")
		}
		return functions
	}
	functions := []string{
		"void env_reset(out float s[STATE_SIZE], inout Rng rng)",
		"void env_step(inout float s[STATE_SIZE], " + action + ", inout Rng rng, out float reward[AGENTS], out bool terminated)",
		"void env_observe(const float s[STATE_SIZE], uint seat, out float obs[OBS_SIZE])",
		"bool env_alive(const float s[STATE_SIZE], uint seat)",
	}
	switch {
	case e.scripted && e.Action.IsDiscrete():
		functions = append(functions, "uint env_script(inout float s[STATE_SIZE], uint seat, inout Rng rng)")
	case e.scripted:
		functions = append(functions, "void env_script(inout float s[STATE_SIZE], uint seat, inout Rng rng, out float action[ACTION_SIZE])")
	}
	if e.shaped {
		functions = append(functions, "float env_shaped(const float s[STATE_SIZE], uint seat, uint steps)")
	}
	if e.Global > 0 {
		functions = append(functions, "void env_global(const float s[STATE_SIZE], out float g[GLOBAL_SIZE])")
	}
	return functions
}
