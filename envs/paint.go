package envs

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// painter makes the observations of environments whose GLSL paints them (ENV_WORD), between steps that another kernel takes. Each workgroup has an
// environment, and each of its invocations some of the words, so that pictures of any size need no registers.
type painter struct {
	ro     *Rollout
	shader *vk.Shader
	last   *engine.Tensor // [S, M, E]: states after the last step, before any reset; nil: no trajectory
}

// newPainter makes the tensors of environments that paint; nil: others.
func newPainter(ctx context.Context, s *engine.State, ro *Rollout) (*painter, error) {
	if !ro.env.paints {
		return nil, nil
	}
	shader, err := ro.env.shader(ctx, "envs/paint", Lane, paintShader)
	if err != nil {
		return nil, err
	}
	p := &painter{ro: ro, shader: shader}
	if ro.cfg.Trajectory {
		p.last = s.Scratch("last_state", engine.Float32, ro.state.Dims()...)
	}
	return p, nil
}

// everyStep reports whether there is something to paint after each step; otherwise a dispatch may take many.
func (p *painter) everyStep(policy *Policy) bool {
	return p != nil && (policy != nil || p.ro.cfg.Trajectory || p.ro.seen != nil)
}

// record records painting the states before step `step` of the trajectory. follows: it is taken next; stepped: the one before was taken in this recording.
func (p *painter) record(r *engine.Recorder, policy *Policy, step int, stepped, follows bool) {
	if p == nil {
		return
	}
	ro := p.ro
	k := paintKernel{
		EnvState: ro.state.Range(), EpisodeStep: ro.step.Range(), Members: uint32(ro.cfg.Members), Environments: uint32(ro.cfg.Environments),
		Step: uint32(step), ParamsPeriod: uint32(ro.cfg.Members), Share: uint32(ro.share()),
	}
	if ro.cfg.Trajectory {
		k.Packed = ro.Trajectory.Element().Packed()
	}
	if stepped && ro.cfg.Trajectory {
		k.NextObs, k.LastState, k.Done = ro.NextObs.Range(), p.last.Range(), ro.Done.Range()
	}
	if follows && ro.cfg.Trajectory {
		k.Obs = ro.Obs.Range()
	}
	if follows && ro.seen != nil {
		k.Seen = ro.seen.Range()
		if policy != nil && policy.Normalizer != nil {
			k.Normalizer, k.ParamsPeriod = policy.Normalizer.Range(), policy.owners()
		}
	}
	if follows && policy != nil {
		k.Observed, k.ObservedPacked = ro.stepped.observed.Range(), ro.stepped.element.Packed()
	}
	if k.NextObs.Buffer == nil && !follows {
		return
	}
	k.setOptions(ro.env, ro.options)
	k.LocalSizeX = r.WorkgroupForLoops(ro.env.Observation.Words(), paintIterations(ro.env.Spec))
	k.each(ro.cfg.Members*ro.cfg.Environments, r.Engine().Device().Info(), func(k paintKernel, groups uint32) { r.Dispatch(k.call(p.shader, groups, 1, 1)) })
}

// each calls f for every dispatch that paints so many environments.
func (k paintKernel) each(environments int, info vk.Info, f func(k paintKernel, groups uint32)) {
	most := int(info.Limits.MaxGroups[0])
	for first := 0; first < environments; first += most {
		k.Environment = uint32(first)
		f(k, uint32(min(most, environments-first)))
	}
}

func (k *paintKernel) setOptions(env *Environment, options Options) {
	k.Element, k.Stops = uint32(env.Observation.Element), options.AutoReset == Disabled
	env.setOptions(&k.Option0, &k.Option1, &k.Option2, &k.Option3, &k.Option4, &k.Option5,
		&k.Option6, &k.Option7, &k.Option8, &k.Option9, &k.Option10, &k.Option11)
}

// paintGroup is a workgroup that every device has.
const paintGroup = 128

// paintIterations returns the loop iterations of an invocation for a word.
func paintIterations(spec Spec) int {
	const loops = 4 // over the elements of a word that are stored as floats, or summed up
	elements := 4
	if spec.Observation.Element == nn.Bits {
		elements = 32
	}
	return 1 + loops*elements + 2*spec.Iterations // twice, where an episode has ended
}

// checkPainted checks that workgroups can paint the observations.
func checkPainted(spec Spec) error {
	if n := (spec.Observation.Words() + paintGroup - 1) / paintGroup * paintIterations(spec); n > maxIterations {
		return fmt.Errorf("painting an observation of %d words takes an invocation %d loop iterations; want at most %d: fewer Spec.Iterations",
			spec.Observation.Words(), n, maxIterations)
	}
	return nil
}

// batchPainter makes the observations of a batch's environments that paint them.
type batchPainter struct {
	b      *Batch
	shader *vk.Shader
	info   vk.Info
	last   vk.Range // [S, M, E]: states after a step, before any reset
}

// newPainter makes the buffer of a batch of environments that paint; nil: others.
func (b *Batch) newPainter(ctx context.Context, dev *vk.Device) (*batchPainter, error) {
	if !b.env.paints {
		return nil, nil
	}
	shader, err := b.env.shader(ctx, "envs/paint", Lane, paintShader)
	if err != nil {
		return nil, err
	}
	last, err := b.buffer(dev, b.state.Size, vk.Local)
	if err != nil {
		return nil, err
	}
	return &batchPainter{b, shader, dev.Info(), last.All()}, nil
}

// record records painting after a reset or, with stepped, after a step, the only one of the time axis. out returns a part of the batch's results.
func (p *batchPainter) record(program *vk.Program, out func(span) vk.Range, stepped bool) {
	if p == nil {
		return
	}
	b := p.b
	k := paintKernel{
		EnvState: b.state, EpisodeStep: b.episodeStep, Observed: out(b.layout.obs), Members: uint32(b.members), Environments: uint32(b.environments),
		ParamsPeriod: uint32(b.members), Share: 1, LocalSizeX: paintGroup,
	}
	if stepped {
		k.LastState, k.Done, k.NextObs, k.Step = p.last, out(b.layout.done), out(b.layout.nextObs), 1
	}
	k.setOptions(b.env, b.options)
	k.each(b.count(), p.info, func(k paintKernel, groups uint32) { program.Dispatch(k.call(p.shader, groups, 1, 1)) })
}
