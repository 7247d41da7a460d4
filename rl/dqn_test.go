package rl

import (
	"fmt"
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
)

// dqnCase is a DQN with some of its options.
type dqnCase struct {
	name, env string
	change    func(*DQNConfig, *NetworkConfig, *ReplayConfig)
}

func dqnCases() []dqnCase {
	categorical := func(c *DQNConfig) { c.Atoms, c.MinValue, c.MaxValue = 7, -2, 5 }
	return []dqnCase{
		{"plain", "CartPole-v1", func(*DQNConfig, *NetworkConfig, *ReplayConfig) {}},
		{"double", "Acrobot-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { c.Double = true }},
		{"dueling", "Acrobot-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { c.Dueling = true }},
		{"huber, clipped", "CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { c.Huber, c.MaxGradNorm = 0.7, 0.3 }},
		{"three steps, normalized", "CartPole-v1", func(_ *DQNConfig, n *NetworkConfig, r *ReplayConfig) { n.NormalizeObs, r.Steps = true, 3 }},
		{"prioritized", "CartPole-v1", func(_ *DQNConfig, _ *NetworkConfig, r *ReplayConfig) { r.Prioritized = true }},
		{"shared and prioritized", "CartPole-v1", func(_ *DQNConfig, _ *NetworkConfig, r *ReplayConfig) { r.Prioritized, r.Shared = true, true }},
		{"categorical", "CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { categorical(c) }},
		{"categorical, double", "Acrobot-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { categorical(c); c.Double = true }},
		{"categorical, dueling", "CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { categorical(c); c.Dueling = true }},
		{"noisy", "CartPole-v1", func(c *DQNConfig, n *NetworkConfig, _ *ReplayConfig) { c.NoisyStd, n.LayerNorm = 0.5, true }},
		{"noisy, double", "Acrobot-v1", func(c *DQNConfig, _ *NetworkConfig, _ *ReplayConfig) { c.NoisyStd, c.Double = 0.5, true }},
		{"all", "CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, r *ReplayConfig) { rainbow(c, r); categorical(c) }},
	}
}

// rainbow turns all options on.
func rainbow(c *DQNConfig, r *ReplayConfig) {
	c.Double, c.Dueling, c.Atoms, c.NoisyStd = true, true, 51, 0.5
	r.Prioritized, r.InitialPriority, r.Steps, r.ImportanceAnnealSteps = true, ErrorPriority, 3, 100
}

const dqnMembers = 3

// newDQNCase makes the case's workflow, with a few transitions of every member in its replay.
func newDQNCase(t *testing.T, c dqnCase) *OffPolicy {
	t.Helper()
	cfg, network, replay := DefaultDQN(), DefaultDQNNetwork(), DefaultDQNReplay()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.LearningStarts, cfg.OptimizerEpsilon = dqnMembers, 2, 10, 120, 1e-3
	network.Hidden, network.Activation = []int{9, 5}, nn.Tanh
	replay.Capacity, replay.Batch = 171, 13
	c.change(&cfg, &network, &replay)
	d, err := NewDQN(t.Context(), engine.New(open(t), engine.Seed(3)), lookup(t, c.env), cfg,
		Network(network), Replays(replay), Environment(envs.Options{TimeLimit: 30}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := d.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// dqnReference is a member's update in float64, from the definitions.
type dqnReference struct {
	cfg            DQNConfig
	model          nn.Model
	actions        int
	hyper          map[string]float64
	params, target []float64
	moments        [2][]float64
	done           float64      // updates
	factors        [3][]float64 // of the noise of an update; nil: none

	gradient, errors, chosen []float64 // of the last update
	loss, norm               float64
}

// dqnRow is a row of a batch.
type dqnRow struct {
	obs, next              []float64
	action                 int
	reward, factor, weight float64
}

// logits are the outputs of an action: values, or logits of atoms.
func (f *dqnReference) logits(y []float64, action int) []float64 {
	atoms := max(f.cfg.Atoms, 1)
	out := append([]float64(nil), y[action*atoms:(action+1)*atoms]...)
	if f.cfg.Dueling {
		for i := range out {
			mean := 0.0
			for a := range f.actions {
				mean += y[a*atoms+i] / float64(f.actions)
			}
			out[i] += y[f.actions*atoms+i] - mean
		}
	}
	return out
}

func (f *dqnReference) atom(i int) float64 {
	return f.cfg.MinValue + (f.cfg.MaxValue-f.cfg.MinValue)*float64(i)/float64(f.cfg.Atoms-1)
}

// value is an action's value by the outputs y.
func (f *dqnReference) value(y []float64, action int) float64 {
	out := f.logits(y, action)
	if f.cfg.Atoms == 0 {
		return out[0]
	}
	sum := 0.0
	for i, l := range logSoftmax(out) {
		sum += math.Exp(l) * f.atom(i)
	}
	return sum
}

// towards is what an update brings a row's outputs towards: the value y, or the distribution m over the atoms.
func (f *dqnReference) towards(row dqnRow) (y float64, m []float64) {
	next := forward(f.model, f.net(f.target, 1), row.next)
	choice := next
	if f.cfg.Double {
		choice = forward(f.model, f.net(f.params, 2), row.next)
	}
	best := 0
	for a := range f.actions {
		if f.value(choice, a) > f.value(choice, best) {
			best = a
		}
	}
	reward := f.hyper["reward_scale"] * row.reward
	if f.cfg.Atoms == 0 {
		return reward + row.factor*f.value(next, best), nil
	}
	m = make([]float64, f.cfg.Atoms)
	spacing := f.atom(1) - f.atom(0)
	for j, l := range logSoftmax(f.logits(next, best)) {
		place := min(max(reward+row.factor*f.atom(j), f.cfg.MinValue), f.cfg.MaxValue)
		for i := range m { // equation 7 of M. G. Bellemare et al.
			m[i] += math.Exp(l) * max(0, 1-math.Abs(place-f.atom(i))/spacing)
		}
	}
	return 0, m
}

// lossOf is a row's loss by the parameters, without its weight, and the error that its priority is made of.
func (f *dqnReference) lossOf(params []float64, row dqnRow, y float64, m []float64) (loss, err float64) {
	out := forward(f.model, f.net(params, 0), row.obs)
	if m == nil {
		d := f.value(out, row.action) - y
		switch h := f.cfg.Huber; {
		case h == 0:
			return d * d, d
		case math.Abs(d) <= h:
			return d * d / 2, d
		default:
			return h * (math.Abs(d) - h/2), d
		}
	}
	for i, l := range logSoftmax(f.logits(out, row.action)) {
		loss -= m[i] * l
		err -= m[i] * l
		if m[i] > 0 {
			err += m[i] * math.Log(m[i])
		}
	}
	return loss, err
}

// update makes an update: the gradient by central differences, clipped, Adam, and the targets.
func (f *dqnReference) update(rows []dqnRow) {
	f.errors, f.chosen, f.loss = nil, nil, 0
	values, distributions := make([]float64, len(rows)), make([][]float64, len(rows))
	for i, row := range rows {
		values[i], distributions[i] = f.towards(row)
		loss, err := f.lossOf(f.params, row, values[i], distributions[i])
		f.loss += row.weight * loss / float64(len(rows))
		f.errors = append(f.errors, err)
		f.chosen = append(f.chosen, f.value(forward(f.model, f.net(f.params, 0), row.obs), row.action))
	}
	mean := func(params []float64) (sum float64) {
		for i, row := range rows {
			loss, _ := f.lossOf(params, row, values[i], distributions[i])
			sum += row.weight * loss / float64(len(rows))
		}
		return sum
	}
	const step = 1e-5
	f.gradient = make([]float64, len(f.params))
	f.norm = 0
	for i := range f.gradient {
		moved := append([]float64(nil), f.params...)
		moved[i] += step
		above := mean(moved)
		moved[i] -= 2 * step
		f.gradient[i] = (above - mean(moved)) / (2 * step)
		f.norm += f.gradient[i] * f.gradient[i]
	}
	f.norm = math.Sqrt(f.norm)
	factor := 1.0
	if limit := f.cfg.MaxGradNorm; limit > 0 {
		factor = min(1, limit/f.norm)
	}
	f.done++
	for i, g := range f.gradient {
		g *= factor
		f.moments[0][i] = 0.9*f.moments[0][i] + 0.1*g
		f.moments[1][i] = 0.999*f.moments[1][i] + 0.001*g*g
		first, second := f.moments[0][i]/(1-math.Pow(0.9, f.done)), f.moments[1][i]/(1-math.Pow(0.999, f.done))
		f.params[i] -= f.hyper["learning_rate"] * first / (math.Sqrt(second) + f.cfg.OptimizerEpsilon)
	}
	if math.Mod(f.done, math.Round(f.hyper["target_interval"])) == 0 {
		for i, v := range f.params {
			f.target[i] += f.hyper["tau"] * (v - f.target[i])
		}
	}
}

// dqnHyper are the hyperparameters of the members.
var dqnHyper = map[string][]float64{
	"learning_rate": {1e-2, 3e-3, 1e-3}, "discount": {0.99, 0.5, 1}, "reward_scale": {1, 0.5, 3}, "tau": {1, 0.3, 0.005}, "target_interval": {2, 1, 3.2},
	"priority_exponent": {0.6, 1, 0.3}, "importance_exponent": {0.4, 1, 0},
}

// newDQNReferences sets what members differ in, and draws their targets apart from their networks.
func newDQNReferences(t *testing.T, o *OffPolicy) []*dqnReference {
	t.Helper()
	q := o.learner.(*qLearner)
	for name, values := range dqnHyper {
		if x := o.Hyper().Lookup(name); x != nil {
			write(t, x, values)
		}
	}
	target := read(t, q.target)
	for i := range target {
		target[i] = float64(float32(0.4*math.Sin(float64(i)) + target[i]))
	}
	write(t, q.target, target)
	params, size := read(t, q.network.params()), q.network.Model().Size()
	var all []*dqnReference
	for m := range dqnMembers {
		row := len(params) / dqnMembers
		f := &dqnReference{cfg: q.cfg, model: q.network.Model(), actions: q.head.Size, hyper: map[string]float64{}}
		for name, values := range dqnHyper {
			f.hyper[name] = float64(float32(values[m]))
		}
		if q.noisy != nil {
			size = row
		}
		f.params, f.target = params[m*row:m*row+size], target[m*row:m*row+size]
		f.moments = [2][]float64{make([]float64, size), make([]float64, size)}
		all = append(all, f)
	}
	return all
}

// dqnRows are the rows of a member's batch, as they were drawn.
func dqnRows(t *testing.T, o *OffPolicy, member int) []dqnRow {
	t.Helper()
	q, b := o.learner.(*qLearner), o.replay.batch
	obs, next, n := read(t, b.Obs), read(t, b.NextObs), q.parts.batch
	action, reward, factor := read(t, b.Action), read(t, b.Reward), read(t, b.Factor)
	var weight []float64
	if b.Weight != nil {
		weight = read(t, b.Weight)
	}
	o0 := o.env.ObsSize()
	var rows []dqnRow
	for i := member * n; i < (member+1)*n; i++ {
		row := dqnRow{
			obs: obs[i*o0 : (i+1)*o0], next: next[i*o0 : (i+1)*o0], action: int(action[i]), reward: reward[i], factor: factor[i], weight: 1,
		}
		if weight != nil {
			row.weight = weight[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// TestDQNUpdate makes updates of every option, of members with hyperparameters of their own, and compares gradients,
// parameters, targets and errors with float64.
func TestDQNUpdate(t *testing.T) {
	for _, c := range dqnCases() {
		t.Run(c.name, func(t *testing.T) { c.compare(t, newDQNCase(t, c), 4) })
	}
}

// TestDQNFusedUpdate is TestDQNUpdate of updates that are fused, with networks of one panel and of two.
func TestDQNFusedUpdate(t *testing.T) {
	for _, c := range dqnCases()[:5] {
		for _, hidden := range [][]int{{16, 12}, {9}} {
			c.compareFused(t, hidden, 13, 4)
		}
		if c.name == "double" {
			c.compareFused(t, []int{64, 72}, 5, 2)
		}
	}
}

// compareFused makes fused updates of networks, and compares each with float64.
func (c dqnCase) compareFused(t *testing.T, hidden []int, batch, updates int) {
	t.Run(fmt.Sprint(c.name, hidden), func(t *testing.T) {
		change := c.change
		c.change = func(cfg *DQNConfig, n *NetworkConfig, r *ReplayConfig) {
			change(cfg, n, r)
			cfg.UpdatesPerStep, n.Hidden, r.Batch = 7, hidden, batch
		}
		o := newDQNCase(t, c)
		requireFused(t, o, true)
		c.compare(t, o, updates)
	})
}

// stepped is the gradient that the optimizer of a learner takes.
func stepped(q *qLearner) *engine.Tensor {
	if q.noisy != nil {
		return q.gradient
	}
	return q.network.pass.Into()
}

// compare makes updates and compares each with float64.
func (c dqnCase) compare(t *testing.T, o *OffPolicy, updates int) {
	t.Helper()
	q, references := o.learner.(*qLearner), newDQNReferences(t, o)
	s := o.State().Temporary("test")
	defer s.Close()
	number := s.Scratch("number", engine.Uint32, engine.Axis("count", 1))
	ended, worst := 0, map[string]float64{}
	for u := range updates {
		write(t, number, []float64{float64(u)})
		poison(t, q.network.outputs, q.nextValues, q.network.atOutputs, q.errors, q.loss, q.chosen, q.share, q.epsilon)
		poisonGradient(t, q.network)
		run(t, o.State().Engine(), func(r *engine.Recorder) {
			q.explore(r)
			q.prepare(r)
			batch := o.replay.Sample(r, o.Clock(), number, o.discount)
			if q.form.On() {
				q.form.Record(r, batch.inLanes(), number, q.updates)
				return
			}
			q.update(r, update{batch: batch, number: number})
		})
		results, noise := dqnResults(t, q), noisyFactors(t, o, u)
		for m, f := range references {
			rows := dqnRows(t, o, m)
			for _, r := range rows {
				if r.factor == 0 {
					ended++
				}
			}
			if noise != nil {
				f.factors = noise[m]
			}
			f.update(rows)
			for what, want := range map[string]struct {
				values []float64
				most   float64
			}{
				"gradient": {f.gradient, 5e-6}, "parameters": {f.params, 5e-6}, "target": {f.target, 5e-6}, "norm": {[]float64{f.norm}, 5e-6},
				"errors": {f.errors, 1e-5}, "values": {f.chosen, 5e-6}, "loss": {[]float64{f.loss}, 1e-5},
			} {
				got, ok := results[what]
				if !ok {
					continue
				}
				d := deviation(got[m][:len(want.values)], want.values)
				if worst[what] = max(worst[what], d); !(d <= want.most) {
					t.Fatalf("update %d, member %d: %s deviates by %g of the largest; want at most %g", u, m, what, d, want.most)
				}
			}
		}
	}
	t.Logf("largest deviations: %v", worst)
	if ended == 0 && c.env == "CartPole-v1" {
		t.Error("no row of the batches ends an episode")
	}
}

// dqnResults reads what an update wrote, by member. Fused updates write neither errors nor, if they are in panels, the whole gradient.
func dqnResults(t *testing.T, q *qLearner) map[string][][]float64 {
	t.Helper()
	byMember := func(x *engine.Tensor) [][]float64 {
		values := read(t, x)
		n, out := len(values)/dqnMembers, [][]float64(nil)
		for m := range dqnMembers {
			out = append(out, values[m*n:(m+1)*n])
		}
		return out
	}
	results := map[string][][]float64{
		"parameters": byMember(q.network.params()), "target": byMember(q.target), "values": byMember(q.chosen), "norm": byMember(q.network.optimizer.Norm()),
	}
	for _, values := range byMember(q.loss) {
		sum := 0.0
		for _, v := range values {
			sum += v / float64(len(values))
		}
		results["loss"] = append(results["loss"], []float64{sum})
	}
	if q.form.On() {
		return results
	}
	results["errors"] = byMember(q.errors)
	row, gradient := q.network.params().Size("parameter"), read(t, stepped(q))
	for m := range dqnMembers {
		sum := make([]float64, row)
		for i, v := range gradient {
			if i/row%dqnMembers == m {
				sum[i%row] += v
			}
		}
		results["gradient"] = append(results["gradient"], sum)
	}
	return results
}
