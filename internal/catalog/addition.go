package catalog

import (
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine/config"
)

// addition is [task] and [network] of env = "addition".
type addition struct {
	task    problem.AdditionConfig
	network problem.AdditionNetworkConfig
}

func newAddition() ProblemSettings {
	return &addition{problem.DefaultAddition(), problem.DefaultAdditionNetwork()}
}

// sections implements sectioned.
func (a *addition) sections() config.Sections {
	return config.Sections{{Name: TaskSection, Value: &a.task}, {Name: "network", Value: &a.network}}
}

func (a *addition) Problem() (ec.Problem, error) {
	of, err := problem.Add("addition", a.network, a.task)
	if err != nil {
		return nil, keyed(err)
	}
	return of, nil
}
