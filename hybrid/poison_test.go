package hybrid

import "testing"

// TestPoison: what is not saved carries nothing from one iteration to the next, exchanges included.
func TestPoison(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			cfg := overPPO()
			cfg.Warmup, cfg.Interval, cfg.Episodes = 1, 2, 2
			digest := func(poisoned bool) string {
				p := kind.over(t, newPPO(t, 5, "CartPole-v1", small(6)), cfg)
				initialized(t, p)
				for i := range 6 {
					if poisoned {
						if err := p.State().Poison(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					steps(t, p, i, i+1)
				}
				d, err := p.State().Digest(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			if want, got := digest(false), digest(true); got != want {
				t.Errorf("with poison between the iterations the digest is %s; want %s", got, want)
			}
		})
	}
}
