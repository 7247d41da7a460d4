package rl

import (
	"math"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
)

// TestInitialPriorities: new transitions have the priorities of their errors by the values that acted, in float64, from the trajectory: of older weights, in
// copies for levels of exploration, of two actors; of noisy networks; and, before the first iteration, of the first values, by which nobody acted.
func TestInitialPriorities(t *testing.T) {
	for _, c := range []dqnCase{
		{"lag, levels, actors", "CartPole-v1", func(c *DQNConfig, n *NetworkConfig, r *ReplayConfig) {
			c.Environments, c.Actors, c.Lag, c.ExplorationLevels, c.Double, c.LearningRate = 6, 2, 2, 3, true, 0.01
			n.NormalizeObs, r.Steps, r.Capacity, r.EndShare = true, 3, 401, 0.05
		}},
		{"noisy, categorical, dueling", "CartPole-v1", func(c *DQNConfig, _ *NetworkConfig, r *ReplayConfig) {
			rainbow(c, r)
			c.Atoms, c.MinValue, c.MaxValue = 7, -1, 9
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := c.change
			c.change = func(cfg *DQNConfig, n *NetworkConfig, r *ReplayConfig) {
				change(cfg, n, r)
				r.Prioritized, r.InitialPriority = true, ErrorPriority
			}
			o := newDQNCase(t, c)
			q := o.learner.(*qLearner)
			if q.normalizer == nil { // whose moments have changed since
				checkFirst(t, o, read(t, q.network.params()), nil)
			}
			runDQN(t, o, 0, 4)
			poisonState(t, o)
			acts := o.collector.acts()
			tensors := func() (params, moments []float64) {
				if acts.Normalizer != nil {
					moments = read(t, acts.Normalizer)
				}
				return read(t, acts.Params), moments
			}
			params, moments := tensors()
			run(t, o.State().Engine(), o.Collect)
			if o.collector.lagged == nil {
				params, moments = tensors()
			}
			checkFirst(t, o, params, moments)
		})
	}
}

// checkFirst compares the priorities of the last trajectory's transitions with the errors by parameters [M, …] that acted, on observations normalized by
// moments [M, 2, O]; nil: as they are.
func checkFirst(t *testing.T, o *OffPolicy, params, moments []float64) {
	t.Helper()
	q, y, tr := o.learner.(*qLearner), o.replay, o.collector.Trajectory()
	horizon, members, environments, _ := tr.Reward.Split(engine.MemberAxis)
	obs, next, action, reward, done := read(t, tr.Obs), read(t, tr.NextObs), read(t, tr.Action), read(t, tr.Reward), read(t, tr.Done)
	slots, priorities, gammas := read(t, y.own.slots), read(t, y.priorities.priority), read(t, o.discount)
	features, cfg := o.env.ObsSize(), q.cfg
	cfg.Double, cfg.NoisyStd = false, 0 // networks and targets are the same, with the noise in them
	at := func(step, m, e int) int { return (step*members+m)*environments + e }
	normal := func(m int, x []float64) []float64 {
		out := append([]float64(nil), x...)
		for f := range out {
			if moments != nil {
				limit := q.shape.ObsLimit
				out[f] = min(max((x[f]-moments[2*m*features+f])*moments[(2*m+1)*features+f], -limit), limit)
			}
		}
		return out
	}
	compared, ended := 0, 0
	for m := range members {
		own := params[m*len(params)/members:][:q.network.Model().Size()]
		f := &dqnReference{cfg: cfg, model: q.network.Model(), actions: q.head.Size, params: own, target: own,
			hyper: map[string]float64{"reward_scale": read(t, q.parts.rewardScale)[m]}}
		alpha := read(t, y.priorities.alpha)[m]
		for step := range horizon {
			for e := range environments {
				i, last, factor, flags := at(step, m, e), step, gammas[m], envs.Done(done[at(step, m, e)])
				row := dqnRow{obs: normal(m, obs[i*features:][:features]), action: int(action[i]), reward: reward[i], weight: 1}
				for k := 1; k < y.cfg.Steps && flags&(envs.Terminated|envs.Truncated) == 0 && last+1 < horizon; k++ {
					last++
					row.reward += factor * reward[at(last, m, e)]
					factor *= gammas[m]
					flags = envs.Done(done[at(last, m, e)])
				}
				if flags&envs.Terminated == 0 {
					row.factor = factor
				} else {
					ended++
				}
				row.next = normal(m, next[at(last, m, e)*features:][:features])
				value, distribution := f.towards(row)
				_, err := f.lossOf(own, row, value, distribution)
				of := func(err float64) float64 {
					return min(max(math.Pow(max(err, 0)+y.cfg.PriorityEpsilon, alpha)*(1<<16), 1), 1<<31)
				}
				slot := int(slots[(m*horizon+step)*environments+e])
				got := priorities[m*y.priorities.rows+slot]
				const most = 2e-5
				if compared++; !(got >= of(math.Abs(err)-most)-1 && got <= of(math.Abs(err)+most)+1) {
					t.Fatalf("member %d, step %d, environment %d: the priority is %g; want %g, of the error %g", m, step, e, got, of(math.Abs(err)), err)
				}
			}
		}
	}
	if compared < horizon*environments || ended == 0 {
		t.Errorf("%d priorities are compared, of %d returns that end with an episode; want more", compared, ended)
	}
}
