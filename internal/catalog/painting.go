package catalog

import (
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine/config"
)

// painting is [task] of env = "painting".
type painting struct {
	task struct {
		Target string `doc:"PNG file to paint, relative to the configuration's folder; empty: a drawn picture, which is the same in every run."`
		Size   int    `min:"1" max:"1024" doc:"Pixels of the canvas along its longer side; a smaller target is not enlarged."`
		problem.PaintingConfig
		Digest string `doc:"SHA-256 of the target's file, so that a run resumes with the same one; empty: any."`
	}
	picture *problem.Picture // the target; nil: none was read
	digest  string           // of its file
	read    struct {         // by which it was made
		target string
		size   int
	}
}

func newPainting() ProblemSettings {
	p := &painting{}
	p.task.Size, p.task.PaintingConfig = 200, problem.DefaultPainting()
	return p
}

// sections implements sectioned.
func (p *painting) sections() config.Sections {
	return config.Sections{{Name: TaskSection, Value: &p.task}}
}

// locate implements located.
func (p *painting) locate(path func(name string) string) {
	if p.task.Target != "" {
		p.task.Target = path(p.task.Target)
	}
}

func (p *painting) Problem() (ec.Problem, error) {
	if err := p.prepare(); err != nil {
		return nil, err
	}
	of, err := problem.Paint("painting", p.picture, p.task.PaintingConfig)
	if err != nil {
		return nil, err
	}
	return of, nil
}

// prepare reads or draws the target, if it is another than before, and compares its digest.
func (p *painting) prepare() (err error) {
	target := p.task.Target
	if p.picture == nil || p.read.target != target || p.read.size != p.task.Size {
		p.picture, p.digest = nil, ""
		var picture *problem.Picture
		if target == "" {
			picture, err = problem.DrawnPicture(p.task.Size)
		} else {
			var data []byte
			if data, err = readSource(target); err == nil {
				picture, err = problem.DecodePicture(target, data, p.task.Size)
			}
			p.digest = digestOf(data)
		}
		if err != nil {
			return config.Invalid(TaskSection+".target", "%v", err)
		}
		p.picture, p.read.target, p.read.size = picture, target, p.task.Size
	}
	switch {
	case p.task.Digest == "":
		p.task.Digest = p.digest
	case target == "":
		return config.Invalid(TaskSection+".digest", "a digest without a target: want task.target, or no digest")
	case p.task.Digest != p.digest:
		return config.Invalid(TaskSection+".digest", "%s has the digest %s, and is another file than the run's: want the file that it began with", target, p.digest)
	}
	return nil
}
