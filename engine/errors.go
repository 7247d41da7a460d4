package engine

import "fmt"

func errNoPopulation(t *Tensor) error {
	return fmt.Errorf("engine: tensor %v has no axis %q", t, PopulationAxis)
}
