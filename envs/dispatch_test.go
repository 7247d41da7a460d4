package envs

import "testing"

// TestStepsOfWork: a GPU's dispatch of small populations is as long as loops allow, and that of many environments with large networks ends in time.
func TestStepsOfWork(t *testing.T) {
	for _, c := range []struct {
		environments, weights, iterations int
		least, most                       int
	}{
		{1, 0, 1, 1 << 20, 1 << 40},
		{1024, 4610, 1, 1024, 1 << 20},
		{262144, 4610, 1, 10, 100},
		{1 << 24, 1 << 20, 1000, 1, 1},
	} {
		if got := stepsOfWork(c.environments, c.weights, c.iterations); got < c.least || got > c.most {
			t.Errorf("%d environments, %d weights, %d iterations: %d steps; want %d to %d", c.environments, c.weights, c.iterations, got, c.least, c.most)
		}
	}
}
