package problem

import (
	"context"
	"errors"
	"fmt"
	"image"
	"math"

	"github.com/evorl/evorl/engine"
)

// paintings evaluates candidates of a Painting.
type paintings struct {
	*Painting
	state   *engine.State
	members int
	window  int
	painter *painter
	shown   []*shown
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

// shown evaluates solutions apart from the search.
type shown struct {
	solutions *engine.Tensor
	state     *engine.State
	scores    *engine.Tensor // [M]
	program   *engine.Program
}

func (e *paintings) show(solutions *engine.Tensor) (*shown, error) {
	for _, v := range e.shown {
		if v.solutions == solutions {
			return v, nil
		}
	}
	v := &shown{solutions: solutions, state: e.state.Engine().NewState()}
	painter := e.newPainter(v.state, e.members, 1)
	v.scores = v.state.Scratch("scores_of_solutions", engine.Float32, engine.Members(e.members))
	var err error
	if v.program, err = e.state.Engine().Record("paint", func(r *engine.Recorder) { painter.score(r, solutions, 0, v.scores) }); err != nil {
		return nil, errors.Join(err, v.state.Close())
	}
	e.shown = append(e.shown, v)
	return v, nil
}

func (e *paintings) Prepare(_ context.Context, solutions *engine.Tensor, _ int) error {
	_, err := e.show(solutions)
	return err
}

// Evaluate implements ec.Evaluation: the fitness of the solutions. It is the same in every episode.
func (e *paintings) Evaluate(ctx context.Context, solutions *engine.Tensor, episodes int) (engine.Evaluation, error) {
	if err := engine.CheckEpisodes(episodes); err != nil {
		return engine.Evaluation{}, fmt.Errorf("problem: %w", err)
	}
	v, err := e.show(solutions)
	if err != nil {
		return engine.Evaluation{}, err
	}
	if err := v.program.Run(ctx); err != nil {
		return engine.Evaluation{}, err
	}
	scores, err := v.scores.ReadFloat32(ctx)
	if err != nil {
		return engine.Evaluation{}, err
	}
	out := engine.Evaluation{Returns: make([][]float32, e.members), Lengths: make([][]float32, e.members)}
	for m, score := range scores {
		for range episodes {
			out.Returns[m], out.Lengths[m] = append(out.Returns[m], score), append(out.Lengths[m], 0)
		}
	}
	return out, nil
}

// Fitness implements ec.Evaluation: the fitness of the solutions.
func (e *paintings) Fitness(_ context.Context, s *engine.State, solutions *engine.Tensor, _ int) (engine.Fitness, error) {
	s = s.Sub("selection")
	painter := e.newPainter(s, e.members, 1)
	return func(r *engine.Recorder, fitness *engine.Tensor) {
		if fitness.Len() != e.members {
			r.Fail(fmt.Errorf("problem: %s: a fitness of %v; want one value for each of %d members, as it has no episodes", e.name, fitness, e.members))
			return
		}
		painter.score(r, solutions, 0, fitness)
	}, s.Err()
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

func (e *paintings) Close() {
	for _, v := range e.shown {
		v.program.Free()
		_ = v.state.Close() // only frees memory
	}
	e.shown = nil
}
