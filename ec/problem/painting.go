package problem

import (
	"context"
	"errors"
	"fmt"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
)

// PaintingConfig defines how pictures are painted.
type PaintingConfig struct {
	Triangles    int     `min:"1" max:"1000" doc:"Triangles of a picture, of 10 parameters each."`
	InitialRange float64 `min:"0" max:"1000" doc:"Initial parameters are drawn from 0 to this; 0: zeros, as EvoJAX's PGPE begins."`
}

// DefaultPainting has the triangles of EvoJAX's example (Y. Tang et al., 2022).
func DefaultPainting() PaintingConfig { return PaintingConfig{Triangles: 50, InitialRange: 1} }

// parameters of a triangle.
const triangleParameters = 10

// PictureScorer scores pictures [n, height, width, 3] on the host: rows from top to bottom, pixels from left to right, red, green and blue from 0 to 1. It
// writes a score for each of n = len(scores); greater is better, and NaN ranks last. The slices are valid during the call only, and pictures is not to be
// changed. For a run to be exact to resume, the same pictures must have the same scores. It should return soon after its context has ended.
type PictureScorer func(ctx context.Context, pictures, scores []float32) error

// Painting is the search for a picture of transparent triangles: Y. Tian, D. Ha, "Modern Evolution Strategies for Creativity: Fitting Concrete Images and
// Abstract Concepts", 2021. A candidate is 10 parameters for each triangle: x0 y0 x1 y1 x2 y2 red green blue alpha, with x along the height and y along
// the width. Each of these columns is scaled by its least and largest value over the candidate's triangles to [0, 1]; one of equal values, as a single
// triangle's, is clipped to [0, 1] instead. Alpha is halved. The triangles are painted on white, the first one first. The fitness is one minus the mean
// squared error from a target, or what a PictureScorer makes of the picture; a candidate with a parameter that is not finite has none (NaN). It
// implements ec.Problem.
type Painting struct {
	name          string
	height, width int
	target        *Picture      // nil: there is a scorer
	scorer        PictureScorer // nil: there is a target
	cfg           PaintingConfig
	workgroup     uint32 // the smallest that paints a tile; 0: by the device
}

// Paint makes the search for a picture like a target a problem.
//
// Errors: settings out of range, no picture, or one of more than 1024 pixels along a side.
func Paint(name string, target *Picture, cfg PaintingConfig) (*Painting, error) {
	if err := engine.Require(map[string]any{"target": target}); err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	if err := errors.Join(target.check(), config.Check(cfg)); err != nil {
		return nil, err
	}
	return &Painting{name: name, height: target.Height, width: target.Width, target: target, cfg: cfg}, nil
}

// PaintScored makes the search for a picture with a high score a problem. The pictures of a generation are painted on the device and scored by the host,
// so many at a time as memory allows.
//
// Errors: settings out of range, no scorer, a picture without pixels or of more than 1024 along a side.
func PaintScored(name string, height, width int, scorer PictureScorer, cfg PaintingConfig) (*Painting, error) {
	if scorer == nil {
		return nil, errors.New("problem: the scorer is nil: want a function that scores pictures")
	}
	if height < 1 || width < 1 || height > MaxSide || width > MaxSide {
		return nil, fmt.Errorf("problem: pictures of %d × %d pixels; want 1 to %d each", width, height, MaxSide)
	}
	if err := config.Check(cfg); err != nil {
		return nil, err
	}
	return &Painting{name: name, height: height, width: width, scorer: scorer, cfg: cfg}, nil
}

// Check checks that Paint or PaintScored made the problem.
func (p *Painting) Check() error {
	if p.height == 0 {
		return errors.New("problem: an empty painting: want one that Paint or PaintScored made")
	}
	return nil
}

// Name implements ec.Problem.
func (p *Painting) Name() string { return p.name }

// Objectives implements ec.Problem.
func (p *Painting) Objectives() int { return 1 }

// Measure is what a solution's evaluation measures.
func (p *Painting) Measure() string { return "score" }

// Space implements ec.Problem.
func (p *Painting) Space(members int) ec.Space {
	return ec.Space{Members: members, Dim: triangleParameters * p.cfg.Triangles}
}

// Start implements ec.Problem.
func (p *Painting) Start(seed, stream uint32, members int) []float32 {
	dim := triangleParameters * p.cfg.Triangles
	all := make([]float32, members*dim)
	for m := range members {
		rng := engine.NewRng(seed, stream, uint32(m), 0, 0)
		for i := range dim {
			all[m*dim+i] = rng.UniformIn(0, float32(p.cfg.InitialRange))
		}
	}
	return all
}

// New implements ec.Problem.
func (p *Painting) New(_ context.Context, s *engine.State, _ engine.Clock, members, population int) (ec.Evaluation, error) {
	info := s.Engine().Device().Info()
	candidate := 4 * (16*p.cfg.Triangles + p.tiles(s.Engine(), p.height, p.width))
	if p.scorer != nil {
		candidate += 4 * 3 * p.height * p.width
	}
	window, _ := chunk(info, members*candidate, population, 1)
	window = max(1, min(window, int(info.Limits.MaxGroups[1])/members))
	e := &paintings{Painting: p, apart: apart{state: s, members: members}, window: window}
	e.appraise = e.newScores
	e.painter = p.newPainter(s, members, window)
	return e, s.Err()
}
