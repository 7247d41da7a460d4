package nn_test

import (
	"math"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
)

// sacReference is one member in float64, with gradients by central differences of the losses.
type sacReference struct {
	a                                        *sac
	member                                   int
	actor, critics, targets                  []float64
	moments                                  map[string][2][]float64
	updates                                  int
	tau, discount, temperature               float64
	rates                                    map[string]float64
	obs, action, reward, nextObs, terminated []float64
}

// sample returns the action and log-probability for an observation, drawn with the random numbers of a row.
func (f *sacReference) sample(actor, obs []float64, stream uint32, row int) (action []float64, logProb float64) {
	key := engine.Philox([2]uint32{f.a.state.Engine().Seed(), stream}, [4]uint32{uint32(f.member), 0, 0, uint32(f.updates)})
	rng := engine.NewRng(key[0], key[1], uint32(f.member), uint32(row), 0)
	y := nn.Evaluate64(f.a.actor.Model(), actor, obs)
	for d := range sacAction {
		low, high := float64(f.a.head.LogStdLow), float64(f.a.head.LogStdHigh)
		logStd, noise := low+(high-low)*(math.Tanh(y[sacAction+d])+1)/2, float64(rng.Normal())
		u := y[d] + math.Exp(logStd)*noise
		action = append(action, math.Tanh(u))
		logProb += -noise*noise/2 - logStd - math.Log(2*math.Pi)/2 + 2*math.Log(math.Cosh(u))
	}
	return action, logProb
}

// values returns the values of both critics.
func (f *sacReference) values(critics, obs, action []float64) [2]float64 {
	x, row := append(append([]float64(nil), obs...), action...), len(critics)/2
	net := f.a.critics.Model()
	return [2]float64{nn.Evaluate64(net, critics[:row], x)[0], nn.Evaluate64(net, critics[row:], x)[0]}
}

func (f *sacReference) criticLoss(critics, target []float64) (loss float64) {
	for i := range sacRows {
		for _, q := range f.values(critics, f.obs[i*sacObs:][:sacObs], f.action[i*sacAction:][:sacAction]) {
			loss += (q - target[i]) * (q - target[i]) / sacRows
		}
	}
	return loss
}

func (f *sacReference) actorLoss(actor []float64) (loss float64) {
	for i := range sacRows {
		obs := f.obs[i*sacObs:][:sacObs]
		action, logProb := f.sample(actor, obs, sacOwnStream, i)
		q := f.values(f.critics, obs, action)
		loss += (f.temperature*logProb - min(q[0], q[1])) / sacRows
	}
	return loss
}

// differences are the central differences of a loss.
func differences(x []float64, loss func([]float64) float64) []float64 {
	const h = 1e-5
	gradient := make([]float64, len(x))
	for i := range x {
		was := x[i]
		x[i] = was + h
		up := loss(x)
		x[i] = was - h
		gradient[i] = (up - loss(x)) / (2 * h)
		x[i] = was
	}
	return gradient
}

// adam steps x (D. P. Kingma, J. Ba, 2015, algorithm 1).
func (f *sacReference) adam(name string, x, gradient []float64) {
	c, t := f.a.actorOptimizer.Config(), float64(f.updates+1)
	moments, ok := f.moments[name]
	if !ok {
		moments = [2][]float64{make([]float64, len(x)), make([]float64, len(x))}
		f.moments[name] = moments
	}
	for i, g := range gradient {
		m, v := &moments[0][i], &moments[1][i]
		*m, *v = c.Beta1**m+(1-c.Beta1)*g, c.Beta2**v+(1-c.Beta2)*g*g
		x[i] -= f.rates[name] * *m / (1 - math.Pow(c.Beta1, t)) / (math.Sqrt(*v/(1-math.Pow(c.Beta2, t))) + c.Epsilon)
	}
}

// step makes one update and returns the gradients.
func (f *sacReference) step() (actorGradient, criticGradient []float64) {
	target := make([]float64, sacRows)
	for i := range target {
		next := f.nextObs[i*sacObs:][:sacObs]
		action, logProb := f.sample(f.actor, next, sacNextStream, i)
		q := f.values(f.targets, next, action)
		target[i] = f.reward[i] + f.discount*(1-f.terminated[i])*(min(q[0], q[1])-f.temperature*logProb)
	}
	criticGradient = differences(f.critics, func(x []float64) float64 { return f.criticLoss(x, target) })
	f.adam("critics", f.critics, criticGradient)
	for i, w := range f.critics {
		f.targets[i] += f.tau * (w - f.targets[i])
	}
	actorGradient = differences(f.actor, f.actorLoss)
	f.adam("actor", f.actor, actorGradient)
	f.updates++
	return actorGradient, criticGradient
}
