package catalog

import (
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine/config"
)

// mnist is [task] and [network] of env = "mnist".
type mnist struct {
	task struct {
		Folder string `doc:"Folder with MNIST's four files, relative to the configuration's; empty: drawn digits, which are the same in every run."`
		problem.ClassificationConfig
	}
	network problem.ImageNetworkConfig

	images *problem.Images // of the folder read; nil: none was
	read   string
}

func newMNIST() ProblemSettings {
	m := &mnist{network: problem.DefaultImageNetwork()}
	m.task.ClassificationConfig = problem.DefaultClassification()
	return m
}

// sections implements sectioned.
func (m *mnist) sections() config.Sections {
	return config.Sections{{Name: TaskSection, Value: &m.task}, {Name: "network", Value: &m.network}}
}

// locate implements located.
func (m *mnist) locate(path func(name string) string) {
	if m.task.Folder != "" {
		m.task.Folder = path(m.task.Folder)
	}
}

func (m *mnist) Problem() (ec.Problem, error) {
	if err := checkPreset(m.network.Config, problem.DefaultImageNetwork().Config); err != nil {
		return nil, err
	}
	images := problem.DrawnDigits()
	if folder := m.task.Folder; folder != "" {
		if m.images == nil || m.read != folder {
			of, err := problem.ReadImages(folder)
			if err != nil {
				return nil, config.Invalid(TaskSection+".folder", "%v", err)
			}
			m.images, m.read = of, folder
		}
		images = m.images
	}
	of, err := problem.Classify("mnist", images, m.network, m.task.ClassificationConfig)
	if err != nil {
		return nil, keyed(err)
	}
	return of, nil
}
