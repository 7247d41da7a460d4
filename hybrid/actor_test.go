package hybrid

import (
	"reflect"
	"testing"

	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/rl"
)

// TestActorIsCandidate: an actor's parameters are a row that a search for a policy could have proposed. Rows of a search, copied into the agents'
// actors, act the same to the bit.
func TestActorIsCandidate(t *testing.T) {
	const members, episodes = 3, 4
	for _, c := range []struct {
		env           string
		squash        bool
		bins, horizon int
	}{{"CartPole-v1", false, 0, 60}, {"Pendulum-v1", true, 0, 30}, {"Pendulum-v1", false, 5, 30}} {
		eng := engine.New(open(t), engine.Seed(12))
		env, err := envs.Lookup(c.env)
		if err != nil {
			t.Fatal(err)
		}
		options := envs.Options{TimeLimit: c.horizon}

		network, cfg := rl.DefaultNetwork(), rl.DefaultPPO()
		network.Hidden, network.Squash, network.Bins = []int{7, 5}, c.squash, c.bins
		cfg.Members = members
		ppo, err := rl.NewPPO(t.Context(), eng, env, cfg, rl.Network(network), rl.Environment(options))
		if err != nil {
			t.Fatal(err)
		}
		defer ppo.Close()
		if err := ppo.Init(t.Context()); err != nil {
			t.Fatal(err)
		}

		searched, policy := problem.DefaultNetwork(), problem.DefaultPolicy()
		searched.Hidden, searched.Squash, searched.OutputGain = network.Hidden, c.squash, 3
		policy.Sample, policy.Bins = true, c.bins
		search := problem.Policy(env, options, searched, policy)
		space := search.Space(members)
		actor := ppo.Agent().Actor()
		if got := actor.Size("parameter"); got != space.Row() {
			t.Fatalf("%s: an actor has rows of %d, a candidate of %d", c.env, got, space.Row())
		}
		start := search.Start(5, engine.Stream("start"), members)
		rows := make([]float32, members*space.Row())
		for m := range members {
			copy(rows[m*space.Row():], start[m*space.Dim:(m+1)*space.Dim])
		}

		s := eng.NewState()
		defer s.Close()
		solutions := s.Tensor("solutions", engine.Float32, engine.Members(members), engine.Axis("parameter", space.Row()))
		evaluation, err := search.New(t.Context(), s, ppo.Clock(), members, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer evaluation.Close()
		if err := s.Zero(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := solutions.WriteFloat32(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		if err := actor.WriteFloat32(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		want, err := evaluation.Evaluate(t.Context(), solutions, episodes)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ppo.Evaluate(t.Context(), episodes)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the actors' evaluation is %v; the candidates' %v", c.env, got, want)
		}
		if reflect.DeepEqual(got.Returns[0], got.Returns[1]) && reflect.DeepEqual(got.Returns[0], got.Returns[2]) {
			t.Errorf("%s: all members act alike: %v", c.env, got.Returns)
		}
	}
}
