package problem

import (
	"context"
	"fmt"
	"image"
	"math"

	"github.com/evorl/evorl/engine"
)

// paintings evaluates candidates of a Painting.
type paintings struct {
	*Painting
	apart
	window  int
	painter *painter
}

func (e *paintings) Window() int { return e.window }

func (e *paintings) Steps() (candidate, clock int) { return 0, 0 }

func (e *paintings) Init(context.Context) error { return nil }

func (e *paintings) Record(r *engine.Recorder, candidates *engine.Tensor, first int, fitness *engine.Tensor) {
	e.painter.score(r, candidates, first, fitness)
}

func (e *paintings) Finish(*engine.Recorder) {}

func (e *paintings) Rows(*engine.Metrics) func(*engine.Recorder) {
	return func(*engine.Recorder) {}
}

// newScores makes, in s, what records the fitness of solutions, which is the same in every episode.
func (e *paintings) newScores(s *engine.State, solutions *engine.Tensor, _ int) (engine.Fitness, error) {
	painter := e.newPainter(s, e.members, 1)
	return func(r *engine.Recorder, fitness *engine.Tensor) {
		if err := e.one(e.name, fitness); err != nil {
			r.Fail(err)
			return
		}
		painter.score(r, solutions, 0, fitness)
	}, s.Err()
}

// Fitness implements ec.Evaluation: the fitness of the solutions.
func (e *paintings) Fitness(_ context.Context, s *engine.State, solutions *engine.Tensor, _ int) (engine.Fitness, error) {
	return e.newScores(s.Sub("selection"), solutions, 1)
}

// Picture implements ec.Pictured: the picture of a member's solution [M, row], with size pixels along its longer side; 0: as many as the canvas.
func (e *paintings) Picture(ctx context.Context, solutions *engine.Tensor, member, size int) (image.Image, error) {
	height, width := e.height, e.width
	if size < 0 || size > MaxSide {
		return nil, fmt.Errorf("problem: a picture of %d pixels; want 1 to %d, or 0 for the canvas' %d × %d", size, MaxSide, width, height)
	}
	if size > 0 {
		longest := max(height, width)
		height, width = max(1, (height*size+longest/2)/longest), max(1, (width*size+longest/2)/longest)
	}
	s := e.state.Engine().NewState()
	defer s.Close()
	x := e.newCanvas(s, 1, 1, height, width)
	row := solutions.Len() / e.members
	one := s.Scratch("solution", engine.Float32, engine.Members(1), engine.Axis("parameter", row))
	x.pictures = s.Scratch("picture", engine.Float32, engine.Axis("number", 3*height*width))
	program, err := e.state.Engine().Record("picture", func(r *engine.Recorder) {
		r.Copy(one, solutions.Index(member))
		x.prepare(r, one)
		x.paint(r)
	})
	if err != nil {
		return nil, err
	}
	defer program.Free()
	if err := program.Run(ctx); err != nil {
		return nil, err
	}
	faulty, err := x.faulty.ReadUint32(ctx)
	if err != nil {
		return nil, err
	}
	if faulty[0] != 0 {
		return nil, fmt.Errorf("problem: %s: the solution of member %d has parameters that are not finite, and no picture", e.name, member)
	}
	numbers, err := x.pictures.ReadFloat32(ctx)
	if err != nil {
		return nil, err
	}
	out := &Picture{Height: height, Width: width, Pixels: make([]byte, len(numbers))}
	for i, v := range numbers {
		out.Pixels[i] = byte(math.Round(255 * float64(v)))
	}
	return out.Image(), nil
}
