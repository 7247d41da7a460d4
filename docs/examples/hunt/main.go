// Command hunt is evorl with a game that drives: see docs/games.md.
package main

import (
	"context"
	"errors"
	"log"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/controller"
)

// spec describes a player: hunter and prey see how far the prey is from the hunter, around a ring of 16 places, and whether the prey rests. Both go back,
// stay or go on.
var spec = envs.Spec{
	Name: "Hunt-v0", Summary: "catch the prey", MaxSteps: 40,
	Observation: envs.Box([]float32{-1, 0}, []float32{1, 1}), Action: envs.Discrete(3),
}

// hunt is a match: the hunter has 30 ticks.
func hunt(ctx context.Context, hunter, prey *controller.Player) error {
	defer hunter.Leave()
	gap := 2 + int(hunter.Seed()%5)
	view := []float32{float32(gap) / 8, 1}
	for tick := range 30 {
		if err := errors.Join(hunter.Ask(view), prey.Ask(view)); err != nil { // both are asked before either is waited for
			return err
		}
		hunts, err := hunter.Answer(ctx)
		flees, e := prey.Answer(ctx)
		if err != nil || e != nil {
			return errors.Join(err, e)
		}
		gap = (gap+int(flees[0])-int(hunts[0])+24)%16 - 8
		view[0], view[1] = float32(gap)/8, 1
		if tick%3 == 1 {
			view[1] = 0 // at the next tick it does not
		}
		hunter.Reward(-1)
		if gap == 0 {
			return hunter.End(view, true)
		}
	}
	return hunter.End(view, false)
}

// flee is the prey's policy: away from the hunter, unless it rests.
func flee(_ context.Context, n int, views, actions []float32) error {
	for i := range n {
		switch gap, rests := views[2*i], views[2*i+1] == 1; {
		case rests:
			actions[i] = 1
		case gap > 0:
			actions[i] = 2
		}
	}
	return nil
}

func main() {
	c, err := controller.New(spec, controller.Config{Script: func(_, action []float32) { action[0] = 1 }})
	preys, e := controller.NewSparring(spec, flee, controller.SparringConfig{})
	if err := errors.Join(err, e); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	go func() { // the game: it begins a match whenever a learner wants a hunter
		for {
			hunter, err := c.Claim(ctx)
			if err != nil {
				return
			}
			go func() {
				if err := hunt(ctx, hunter, preys.Player()); err != nil {
					log.Print(err)
				}
			}()
		}
	}()
	cmd.Main(evorl.OwnEnvironment(c.Environment(), nil))
}
