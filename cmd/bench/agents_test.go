package bench

import (
	"testing"
	"time"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// Worlds of several agents step, and a generation on WaterWorld runs, at small sizes. PPO's cases are tested elsewhere.
func TestAgents(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	b := &bench{eng: engine.New(dev, engine.Seed(1)), time: time.Millisecond}
	if n := len(agents()); n != 6 {
		t.Errorf("%d cases; want 6", n)
	}
	for _, c := range []Case{
		{Name: "spread/w3", run: randomSeats("SimpleSpread-v3", 3)},
		{Name: "pong/w3", run: randomSeats("Pong-v0", 3)},
		{Name: "puffer-pong/w3", run: randomSeats("PufferPong-v0", 3)},
		{Name: "pgpe/waterworld", run: waterWorldTime(4, 2, 5)},
	} {
		f, err := c.run(t.Context(), b)
		if err != nil || !(f.value > 0) {
			t.Errorf("%s: %+v, %v", c.Name, f, err)
		}
		t.Logf("%s: %.4g", c.Name, f.value)
	}
}
