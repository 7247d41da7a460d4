package envs

import (
	"math"

	"github.com/evorl/evorl/engine"
)

// dynamics is an environment in float64, written from the same equations independently of the GLSL, for the tests of
// the episode.
type dynamics struct {
	name    string
	reset   func(rng *engine.Rng) []float64
	step    func(s []float64, action float64) (reward float64, terminated bool)
	observe func(s []float64) []float64
}

func modelCartPole() dynamics {
	return dynamics{
		name: "CartPole-v1",
		reset: func(rng *engine.Rng) []float64 {
			s := make([]float64, 4)
			for i := range s {
				s[i] = float64(rng.UniformIn(-0.05, 0.05))
			}
			return s
		},
		step: func(s []float64, action float64) (float64, bool) {
			sin, cos := math.Sincos(s[2])
			push := (20*action - 10 + 0.05*s[3]*s[3]*sin) / 1.1
			swing := (9.8*sin - cos*push) / (0.5 * (4.0/3 - 0.1*cos*cos/1.1))
			roll := push - 0.05*swing*cos/1.1
			s[0], s[1], s[2], s[3] = s[0]+0.02*s[1], s[1]+0.02*roll, s[2]+0.02*s[3], s[3]+0.02*swing
			return 1, math.Abs(s[0]) > 2.4 || math.Abs(s[2]) > math.Pi/15
		},
		observe: func(s []float64) []float64 { return s },
	}
}

func modelPendulum() dynamics {
	return dynamics{
		name: "Pendulum-v1",
		reset: func(rng *engine.Rng) []float64 {
			return []float64{float64(rng.UniformIn(-math.Pi, math.Pi)), float64(rng.UniformIn(-1, 1))}
		},
		step: func(s []float64, action float64) (float64, bool) {
			u := min(max(action, -2), 2)
			theta := math.Remainder(s[0], 2*math.Pi)
			reward := -(theta*theta + 0.1*s[1]*s[1] + 0.001*u*u)
			s[1] = min(max(s[1]+0.05*(15*math.Sin(theta)+3*u), -8), 8)
			s[0] = theta + 0.05*s[1]
			return reward, false
		},
		observe: func(s []float64) []float64 { return []float64{math.Cos(s[0]), math.Sin(s[0]), s[1]} },
	}
}

// episode is one environment within shaders/envs/wrapper.glsl, in float64.
type episode struct {
	dynamics
	options             Options // resolved
	member, environment uint32
	seed, steps         uint32

	state []float64
	word  EpisodeWord
	ret   float64
}

// transition is the result of one step of one environment.
type transition struct {
	obs, nextObs []float64
	reward       float64
	done         Done
}

func (e *episode) rng(step uint32) *engine.Rng {
	return engine.NewRng(e.seed, engine.Stream(Stream), e.member, e.environment, step)
}

func (e *episode) begin() []float64 {
	e.steps, e.word, e.ret = 0, 0, 0
	e.state = e.reset(e.rng(0))
	return e.observe(e.state)
}

func (e *episode) advance(action float64) transition {
	e.steps++
	ended := e.word.Done()
	if ended.Over() && e.options.AutoReset == Disabled {
		obs := e.observe(e.state)
		return transition{obs, obs, 0, ended | Void}
	}
	length := e.word.Steps()
	if ended.Over() {
		length, e.ret = 0, 0
	}
	var done Done
	sum := 0.0
	for range e.options.ActionRepeat {
		reward, terminated := e.step(e.state, action)
		sum += reward
		length++
		if terminated {
			done |= Terminated
		}
		if length == e.options.TimeLimit {
			done |= Truncated
		}
		if done != 0 {
			break
		}
	}
	e.ret += sum
	e.word = EpisodeWord(uint32(length) | uint32(done)<<30)
	t := transition{reward: sum * float64(e.options.RewardScale), done: done}
	if e.options.SparseReward {
		t.reward = 0
		if done.Over() {
			t.reward = e.ret * float64(e.options.RewardScale)
		}
	}
	t.nextObs = append([]float64(nil), e.observe(e.state)...)
	if done.Over() {
		switch e.options.AutoReset {
		case Normal:
			e.state = e.reset(e.rng(e.steps))
		case Fast:
			e.state = e.reset(e.rng(0))
		}
	}
	t.obs = append([]float64(nil), e.observe(e.state)...)
	return t
}
