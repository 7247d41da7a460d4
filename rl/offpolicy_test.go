package rl

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// smallOffPolicy are settings of off-policy algorithms that take no time: three rollouts of random actions, six updates an iteration.
func smallOffPolicy() (OffPolicyConfig, ReplayConfig) {
	replay := DefaultReplay()
	replay.Capacity, replay.Batch, replay.Steps = 100, 9, 3
	return OffPolicyConfig{
		Members: 3, Environments: 2, RolloutLength: 6, UpdatesPerStep: 0.5, LearningStarts: 25, Discount: 0.95, RewardScale: 0.1, Actors: 1,
	}, replay
}

// offPolicies are small workflows.
func offPolicies() []workflow {
	common, replay := smallOffPolicy()
	network := DefaultOffPolicyNetwork()
	network.Hidden, network.NormalizeObs = []int{8}, true
	stochastic := network
	stochastic.StateDependentStd = true
	deep := DefaultSACNetwork()
	deep.Hidden = []int{5, 6, 7}
	ddpg, td3, sac := DefaultDDPG(), DefaultTD3(), DefaultSAC()
	ddpg.OffPolicyConfig, td3.OffPolicyConfig, sac.OffPolicyConfig = common, common, common
	redq := DefaultREDQ()
	redq.OffPolicyConfig, redq.Critics, redq.PolicyInterval = common, 4, 3
	ddpgNetwork := network
	ddpgNetwork.CriticHidden = []int{6, 9}
	sac.AnnealSteps, sac.WarmupSteps, sac.AnnealTo, sac.Anneal = 900, 200, 0.1, optim.CosineShape
	masked := td3
	masked.PolicyDelay = 4
	shared, few := replay, replay
	shared.Shared = true
	few.EndShare = 0.05
	distributions := sac
	distributions.Atoms, distributions.MinValue, distributions.MaxValue = 7, -2, 3
	limit := Environment(envs.Options{TimeLimit: 8})
	together, plain := DefaultDvD(), DefaultOffPolicyNetwork()
	together.OffPolicyConfig, together.States, plain.Hidden = common, 7, []int{8}
	together.RolloutLength, together.Diversity, together.DiversityFrom = 8, []float64{0.1, 0.3}, []int{0, 150}
	fast, fastNetwork, fastReplay := fastSettings()
	return []workflow{
		{"td3 of many environments", makes(NewTD3, "Pendulum-v1", fast, Network(fastNetwork), Replays(fastReplay), limit)},
		{"dvd", makes(NewDvD, "Pendulum-v1", together, Network(plain), Replays(shared), limit)},
		{"ddpg", makes(NewDDPG, "Pendulum-v1", ddpg, Network(ddpgNetwork), Replays(replay), limit)},
		{"td3", makes(NewTD3, "Pendulum-v1", td3, Network(network), Replays(shared), limit)},
		{"td3 with a mask", makes(NewTD3, "Pendulum-v1", masked, Network(network), Replays(replay), limit)},
		{"sac", makes(NewSAC, "Pendulum-v1", sac, Network(stochastic), Replays(replay), limit)},
		{"sac with room for few ends", makes(NewSAC, "Pendulum-v1", sac, Network(stochastic), Replays(few), limit)},
		{"sac of distributions, layer by layer", makes(NewSAC, "MountainCarContinuous-v0", distributions, Network(deep), Replays(replay), limit)},
		{"redq", makes(NewREDQ, "Pendulum-v1", redq, Network(deep), Replays(replay), limit)},
		{"sac of discrete actions", makes(NewSAC, "CartPole-v1", sac, Network(network), Replays(replay), limit)},
	}
}

// dispatches implements counted, for networks with small products.
func (o *OffPolicy) dispatches() int {
	updates, _ := o.cfg.updates()
	info := o.State().Engine().Device().Info()
	if of, ok := o.learner.(*discreteSAC); ok {
		return of.dispatches(info, updates) + len(o.rates.scheduled)
	}
	n := 1 + 6 + 1 + 3 + 3 + 1 + 1 + 1 // rollout, append, environment steps; metrics of episodes, of updates, of the actor; ring, clock
	n += len(o.rates.scheduled)
	actors, inside := updates, 0
	var ac *actorCritic
	switch of := o.learner.(type) {
	case *deterministic:
		ac = of.actorCritic
	case *td3:
		ac = of.actorCritic
		if of.diversity != nil {
			inside += 3 * updates / of.block(updates)
		}
		if of.delay.masked(of.block(updates)) {
			inside += updates
		} else {
			actors /= of.block(updates)
		}
		if of.spread != nil {
			n++
		}
	case *sac:
		ac = of.actorCritic
		inside += updates // the actor's loss
	case *redq:
		ac = of.actorCritic
		actors /= of.block(updates)
		inside += updates + actors // the subset, the actor's loss
	}
	if ac.normalizer != nil {
		n += 2 // the moments, and values left out
	}
	// Sample; actions and their values, values, loss, gradient, norm and step.
	inside += updates * (1 + ways(ac.actor, 1) + 1 + 2*ways(ac.critics, 2) + 1 + gradients(info, ac.critics, 2) + 2)
	values := ways(ac.critics, 2)
	if d, err := o.deterministic(); err == nil && d.distribution == nil && !ac.critics.Layered() {
		values = 0 // the way back goes forward again
		n++        // the last update's, for the metrics
	}
	// Actions and their values; gradients at actions, outputs and parameters, norm and step.
	inside += actors * (ways(ac.actor, 1) + 1 + values + ascents(ac.critics) + 1 + gradients(info, ac.actor, 1) + 2)
	if ac.distribution != nil {
		inside += actors // the slope of its mean
		if _, soft := o.learner.(*sac); soft {
			inside += actors // its mean
		}
	}
	if inside > vk.PlainCommands {
		inside += updates // a kernel counts them
	}
	return n + inside
}

// ways, gradients and ascents are how many kernels a way through a network takes: forward; back to parameters; back to the actions alone.
func ways(n *network, parts int) int {
	if !n.Layered() {
		return 1
	}
	return len(n.Model().Layers()) + parts - 1
}

func gradients(info vk.Info, n *network, parts int) int {
	if !n.Layered() {
		return 1
	}
	layers := len(n.Model().Layers())
	all := layers*2 + parts - 1 + layers - 1
	if info.Type == vk.CPU && info.SubgroupSize == 8 {
		all -= 2 // the last layer's few outputs: weights, biases and the layer below in one
	}
	return all
}

func ascents(n *network) int {
	if !n.Layered() {
		return 1
	}
	return len(n.Model().Layers())
}

// learnOffPolicy learns until the mean return of 20 episodes of every member is enough, and fails if it is not after a number of iterations. Random
// actions return some 22 on CartPole-v1, and -1,200 on Pendulum-v1.
func learnOffPolicy(t *testing.T, o *OffPolicy, iterations int, enough float64) {
	t.Helper()
	const parts = 5
	for part := 1; part <= parts; part++ {
		if err := engine.Learn(t.Context(), o, engine.Iterations(iterations*part/parts)); err != nil {
			t.Fatal(err)
		}
		e, err := o.Evaluate(t.Context(), 20)
		if err != nil {
			t.Fatal(err)
		}
		mean := 0.0
		for _, m := range e.Means() {
			mean += m / float64(len(e.Returns))
		}
		t.Logf("%s on %s, %d environment steps: mean return %.1f; members %.1f", o.name, o.env.Name, envSteps(t, o), mean, e.Means())
		if mean >= enough {
			return
		}
	}
	t.Errorf("%s on %s has not reached a mean return of %g", o.name, o.env.Name, enough)
}

// newSmall makes a TD3 of smallOffPolicy, changed by a test.
func newSmall(t *testing.T, dev *vk.Device, change func(*TD3Config, *ReplayConfig)) *OffPolicy {
	t.Helper()
	cfg := DefaultTD3()
	common, replay := smallOffPolicy()
	cfg.OffPolicyConfig = common
	change(&cfg, &replay)
	network := DefaultOffPolicyNetwork()
	network.Hidden = []int{8}
	o, err := NewTD3(t.Context(), engine.New(dev, engine.Seed(5)), lookup(t, "Pendulum-v1"), cfg, Network(network), Replays(replay),
		Environment(envs.Options{TimeLimit: 8}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func begun(t *testing.T, o *OffPolicy) *OffPolicy {
	t.Helper()
	if err := o.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestWarmup: a run begins with whole rollouts of random actions in the replay, which count as environment steps and not as iterations.
func TestWarmup(t *testing.T) {
	dev := open(t)
	for _, c := range []struct{ starts, rollouts int }{{0, 0}, {1, 1}, {24, 2}, {25, 3}} {
		o := begun(t, newSmall(t, dev, func(cfg *TD3Config, _ *ReplayConfig) { cfg.LearningStarts = c.starts }))
		iterations, steps, err := o.Clock().Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if iterations != 0 || steps != 6*c.rollouts || envSteps(t, o) != int64(36*c.rollouts) {
			t.Errorf("learning_starts = %d: %d iterations, %d steps of each environment, %d of all; want 0, %d and %d",
				c.starts, iterations, steps, envSteps(t, o), 6*c.rollouts, 36*c.rollouts)
		}
		head, action := read(t, o.replay.head), read(t, o.replay.parts[0].action)
		for p := range 3 {
			if held := int(head[2*p+1]); held != 12*c.rollouts {
				t.Errorf("learning_starts = %d: member %d has %d transitions; want %d", c.starts, p, held, 12*c.rollouts)
			}
			low, high := 0.0, 0.0
			for _, a := range action[100*p:][:12*c.rollouts] {
				low, high = min(low, a), max(high, a)
			}
			if c.rollouts > 1 && (low > -0.6 || high < 0.6 || low < -1 || high > 1) {
				t.Errorf("learning_starts = %d: actions of member %d are from %g to %g; want them all over [-1, 1]", c.starts, p, low, high)
			}
		}
	}
}

// TestOffPolicyEpisode: an episode of one member can be recorded, and has the return that its evaluation has.
func TestOffPolicyEpisode(t *testing.T) {
	o := begun(t, newSmall(t, open(t), func(*TD3Config, *ReplayConfig) {}))
	steps(t, o, 0, 1)
	for member, returns := range evaluate(t, o).Returns {
		episode, err := o.Evaluator().Record(t.Context(), o.Clock(), member)
		if err != nil {
			t.Fatal(err)
		}
		if got := episode.Return(); math.Abs(float64(got-returns[0])) > 1e-3 {
			t.Errorf("the episode of member %d has the return %g; evaluated, it has %g", member, got, returns[0])
		}
	}
}

// TestDelayForms: a delay that all members share gives the same bits as pattern and as mask.
func TestDelayForms(t *testing.T) {
	dev := open(t)
	for _, delay := range []float64{1, 2, 3} {
		var forms [2]map[string][]float64
		for i := range forms {
			o := newSmall(t, dev, func(cfg *TD3Config, _ *ReplayConfig) { cfg.PolicyDelay = delay })
			if i == 1 {
				o.Hyper().Vary("policy_delay")
			}
			steps(t, begun(t, o), 0, 3)
			if d := o.learner.(*td3); d.delay.masked(d.block(6)) != (i == 1) {
				t.Fatalf("delay %g: masked %v in form %d", delay, i == 0, i)
			}
			forms[i] = map[string][]float64{}
			for _, x := range o.State().Tensors() {
				if !strings.Contains(x.Name(), "policy_delay") {
					forms[i][x.Name()] = read(t, x)
				}
			}
		}
		for name, values := range forms[0] {
			for i, v := range values {
				if v != forms[1][name][i] {
					t.Fatalf("delay %g: element %d of %s is %g as a pattern, %g as a mask", delay, i, name, v, forms[1][name][i])
				}
			}
		}
	}
}

// TestReplayNotSaved: a run with checkpoints without the replay goes on after filling it anew, which counts as environment steps.
func TestReplayNotSaved(t *testing.T) {
	dev := open(t)
	unsaved := func(_ *TD3Config, replay *ReplayConfig) { replay.Save, replay.EndShare = false, 0.25 }
	half := begun(t, newSmall(t, dev, unsaved))
	steps(t, half, 0, 2)
	dir := t.TempDir()
	if _, err := half.State().Save(t.Context(), dir, 2); err != nil {
		t.Fatal(err)
	}
	saved, err := checkpoint.Open(filepath.Join(dir, "00000002"))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range saved.Manifest.Tensors {
		if strings.HasPrefix(x.Name, "replay/") && x.Name != "replay/owner" {
			t.Errorf("the checkpoint holds %s", x.Name)
		}
	}
	before := envSteps(t, half)
	fresh := newSmall(t, dev, unsaved)
	if err := fresh.State().Poison(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := fresh.State().Load(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
	steps(t, fresh, 2, 4)
	if took := envSteps(t, fresh) - before; took != 3*36+2*36 {
		t.Errorf("the resumed run took %d environment steps in two iterations; want %d", took, 3*36+2*36)
	}
	for p, v := range read(t, fresh.replay.head) {
		if p%2 == 1 && v != 5*12 {
			t.Errorf("the resumed run holds %g transitions of member %d; want %d", v, p/2, 5*12)
		}
	}
	rows, err := fresh.Metrics().Read(3)
	if err != nil {
		t.Fatal(err)
	}
	for p, refused := range rows["gradient/refused"] {
		if refused != 0 {
			t.Errorf("%g updates of member %d were refused", refused, p)
		}
	}
}

// TestCopiedMember: a member that becomes a copy keeps its own replay, where the copied episode does not go on, or takes the other's over.
func TestCopiedMember(t *testing.T) {
	dev := open(t)
	for _, inherit := range []bool{false, true} {
		o := begun(t, newSmall(t, dev, func(_ *TD3Config, replay *ReplayConfig) { replay.Inherit = inherit }))
		steps(t, o, 0, 1)
		source := o.State().Sub("test").Scratch("source", engine.Uint32, engine.Members(3))
		write(t, source, []float64{1, 1, 2})
		before, newest := read(t, o.replay.parts[0].obs), read(t, o.replay.own.newest.row)
		run(t, o.State().Engine(), func(r *engine.Recorder) { engine.Gather(r, source, o.State().Inherited()...) })
		n, after := len(before)/3, read(t, o.replay.parts[0].obs)
		from := 0
		if inherit {
			from = n
		}
		for i, v := range after[:n] {
			if v != before[from+i] {
				t.Fatalf("inherit %v: element %d of the copy's replay is %g; want %g", inherit, i, v, before[from+i])
			}
		}
		steps(t, o, 1, 2)
		link := read(t, o.replay.link)
		for lane, row := range newest[:2] {
			if inherit {
				row = newest[2+lane]
			}
			if row == 0 {
				continue // the episode ended with the iteration
			}
			if linked := link[int(row)-1] < float64(o.replay.cfg.Capacity); linked != inherit {
				t.Errorf("inherit %v: the last transition of environment %d is linked: %v", inherit, lane, linked)
			}
		}
	}
}

// TestRoomForEnds: room for more ends than there are changes no bit: agents, episodes and metrics, also after a member became a copy, and after a
// resume.
func TestRoomForEnds(t *testing.T) {
	dev := open(t)
	for name, change := range map[string]func(*ReplayConfig){
		"own":     func(*ReplayConfig) {},
		"inherit": func(c *ReplayConfig) { c.Inherit = true },
		"shared":  func(c *ReplayConfig) { c.Shared = true },
		"unsaved": func(c *ReplayConfig) { c.Save = false },
	} {
		var states [2]map[string][]float64
		for i := range states {
			o := resumedCopy(t, dev, func(_ *TD3Config, replay *ReplayConfig) {
				replay.EndShare = []float64{1, 0.25}[i]
				change(replay)
			})
			states[i] = map[string][]float64{}
			for _, x := range o.State().Tensors() {
				if !strings.HasPrefix(x.Name(), "replay/") || strings.HasPrefix(x.Name(), "replay/batch/") {
					states[i][x.Name()] = read(t, x)
				}
			}
			if held := read(t, o.replay.head)[1]; name != "unsaved" && held != 100 {
				t.Errorf("%s: the ring holds %g transitions; want 100", name, held)
			}
		}
		for tensor, values := range states[0] {
			for i, v := range values {
				if got := states[1][tensor][i]; got != v && !(math.IsNaN(got) && math.IsNaN(v)) {
					t.Fatalf("%s: element %d of %s is %g with room for fewer ends; want %g", name, i, tensor, got, v)
				}
			}
		}
	}
}

// resumedCopy runs 12 iterations of newSmall; after four, the first member becomes a copy of the second, and after eight, the run resumes
// from a checkpoint.
func resumedCopy(t *testing.T, dev *vk.Device, change func(*TD3Config, *ReplayConfig)) *OffPolicy {
	t.Helper()
	half := begun(t, newSmall(t, dev, change))
	steps(t, half, 0, 4)
	s := half.State().Temporary("test")
	defer s.Close()
	source := s.Scratch("source", engine.Uint32, engine.Members(3))
	write(t, source, []float64{1, 1, 2})
	run(t, half.State().Engine(), func(r *engine.Recorder) { engine.Gather(r, source, half.State().Inherited()...) })
	steps(t, half, 4, 8)
	dir := t.TempDir()
	if _, err := half.State().Save(t.Context(), dir, 8); err != nil {
		t.Fatal(err)
	}
	o := newSmall(t, dev, change)
	reload(t, o.State(), filepath.Join(dir, "00000008"))
	steps(t, o, 8, 12)
	return o
}

// TestOffPolicyRefused: settings that cannot be are one error each, which names the setting, and nothing stays allocated.
func TestOffPolicyRefused(t *testing.T) {
	dev := open(t)
	for _, c := range []struct {
		env    string
		change func(cfg *TD3Config, network *NetworkConfig, replay *ReplayConfig)
		want   string
	}{
		{"", func(c *TD3Config, _ *NetworkConfig, _ *ReplayConfig) { c.Members = 0 }, `"members" is 0: want at least 1`},
		{"", func(c *TD3Config, _ *NetworkConfig, _ *ReplayConfig) { c.UpdatesPerStep = 0.025 }, `the nearest is updates_per_step = 0.02`},
		{"", func(c *TD3Config, _ *NetworkConfig, _ *ReplayConfig) { c.UpdatesPerStep = 0.001 }, `the nearest is updates_per_step = 0.02`},
		{"", func(c *TD3Config, _ *NetworkConfig, _ *ReplayConfig) { c.PolicyDelay = 0.5 }, `"policy_delay" is 0.5: want at least 1`},
		{"", func(_ *TD3Config, _ *NetworkConfig, r *ReplayConfig) { r.Capacity = 99 }, `"replay.capacity": 99 transitions, where an iteration appends 50`},
		{"", func(_ *TD3Config, _ *NetworkConfig, r *ReplayConfig) { r.Batch = 0 }, `replay: "batch" is 0: want at least 1`},
		{"", func(_ *TD3Config, _ *NetworkConfig, r *ReplayConfig) { r.Shared, r.Inherit = true, true }, `replay: "inherit": the members share one ring`},
		{"", func(_ *TD3Config, _ *NetworkConfig, r *ReplayConfig) { r.Save, r.Inherit = false, true }, `replay: "inherit": only state in checkpoints`},
		{"", func(_ *TD3Config, n *NetworkConfig, _ *ReplayConfig) { n.Bins = 5 }, `"network.bins": td3 needs the gradient with respect to actions`},
		{"", func(_ *TD3Config, n *NetworkConfig, _ *ReplayConfig) { n.Squash = false }, `"network.squash"`},
		{"", func(_ *TD3Config, _ *NetworkConfig, r *ReplayConfig) { r.Prioritized = true }, `"replay.prioritized"`},
		{"", func(_ *TD3Config, n *NetworkConfig, _ *ReplayConfig) { n.NormalizeReward = true }, `"network.normalize_reward"`},
		{"", func(_ *TD3Config, n *NetworkConfig, _ *ReplayConfig) { n.StateDependentStd = true }, `"network.state_dependent_std"`},
		{"CartPole-v1", func(*TD3Config, *NetworkConfig, *ReplayConfig) {}, `"env": td3 needs continuous actions, and "CartPole-v1" has actions Discrete(2)`},
	} {
		cfg, network, replay := DefaultTD3(), DefaultOffPolicyNetwork(), DefaultReplay()
		c.change(&cfg, &network, &replay)
		name := "Pendulum-v1"
		if c.env != "" {
			name = c.env
		}
		o, err := NewTD3(t.Context(), engine.New(dev), lookup(t, name), cfg, Network(network), Replays(replay))
		if err == nil {
			o.Close()
		}
		if err == nil || !strings.HasPrefix(err.Error(), "rl: td3 on \""+name+"\": ") ||
			!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v; want one line with %q", err, c.want)
		}
		if m := dev.Memory(); m.Buffers != 0 {
			t.Errorf("%v: %d buffers are left", err, m.Buffers)
		}
	}
	network := DefaultOffPolicyNetwork()
	if _, err := NewSAC(t.Context(), engine.New(dev), lookup(t, "Pendulum-v1"), DefaultSAC(), Network(network)); err == nil ||
		!strings.Contains(err.Error(), `"network.state_dependent_std"`) {
		t.Errorf("sac without state-dependent deviations: error %v", err)
	}
	for want, change := range map[string]func(*SACConfig){
		`"sac.atoms": critics of discrete actions`:  func(c *SACConfig) { c.Atoms = 5 },
		`"clipped_double": sac uses the smaller of`: func(c *SACConfig) { c.Atoms, c.ClippedDouble = 5, false },
	} {
		cfg := DefaultSAC()
		change(&cfg)
		if _, err := NewSAC(t.Context(), engine.New(dev), lookup(t, "CartPole-v1"), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one with %s", err, want)
		}
	}
	replay := DefaultReplay()
	replay.Prioritized = true
	if _, err := NewSAC(t.Context(), engine.New(dev), lookup(t, "CartPole-v1"), DefaultSAC(), Replays(replay)); err == nil ||
		!strings.Contains(err.Error(), `"replay.prioritized"`) {
		t.Errorf("sac of discrete actions by priorities: error %v", err)
	}
}

// pendulumOffPolicy returns settings by which DDPG, TD3 and SAC swing a pendulum up in 3,000 steps of a member, the networks of
// the first two, and SAC's.
func pendulumOffPolicy() (ddpg DDPGConfig, td3 TD3Config, sac SACConfig, replay ReplayConfig, network, stochastic NetworkConfig) {
	common := OffPolicyConfig{Members: 4, Environments: 1, RolloutLength: 50, UpdatesPerStep: 1, LearningStarts: 500, Discount: 0.95, RewardScale: 0.1, Actors: 1}
	replay = DefaultReplay()
	replay.Capacity, replay.Batch = 10000, 64
	network, stochastic = DefaultOffPolicyNetwork(), DefaultSACNetwork()
	network.Hidden, stochastic.Hidden = []int{32, 32}, []int{32, 32}
	ddpg, td3, sac = DefaultDDPG(), DefaultTD3(), DefaultSAC()
	ddpg.OffPolicyConfig, td3.OffPolicyConfig, sac.OffPolicyConfig = common, common, common
	ddpg.ActorLearningRate, td3.ActorLearningRate, sac.ActorLearningRate = 2e-3, 2e-3, 2e-3
	ddpg.CriticLearningRate, td3.CriticLearningRate, sac.CriticLearningRate = 2e-3, 2e-3, 2e-3
	ddpg.Tau, td3.Tau, sac.Tau = 0.02, 0.02, 0.02
	sac.TemperatureLearningRate, sac.Temperature = 2e-3, 0.2
	return ddpg, td3, sac, replay, network, stochastic
}

// pendulumWorkflows are workflows of these settings, with products of the precision.
func pendulumWorkflows(precision nn.Precision) []workflow {
	ddpg, td3, sac, replay, network, stochastic := pendulumOffPolicy()
	network.Precision, stochastic.Precision = precision, precision
	distributions := sac
	distributions.Atoms, distributions.MinValue, distributions.MaxValue = 41, -36, 4
	return []workflow{
		{"ddpg", makes(NewDDPG, "Pendulum-v1", ddpg, Network(network), Replays(replay))},
		{"td3", makes(NewTD3, "Pendulum-v1", td3, Network(network), Replays(replay))},
		{"sac", makes(NewSAC, "Pendulum-v1", sac, Network(stochastic), Replays(replay))},
		{"sac of distributions", makes(NewSAC, "Pendulum-v1", distributions, Network(stochastic), Replays(replay))},
	}
}

// TestOffPolicyLearns: they do, and so does SAC of distributions.
func TestOffPolicyLearns(t *testing.T) {
	for _, c := range pendulumWorkflows(nn.Float32) {
		t.Run(c.name, func(t *testing.T) {
			o, err := c.make(t, engine.New(open(t), engine.Seed(1)))
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			learnOffPolicy(t, o.(*OffPolicy), 50, -300)
		})
	}
}
