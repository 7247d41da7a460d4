package problem

import (
	"context"
	"fmt"

	"github.com/evorl/evorl/engine"
)

// painter paints the pictures of candidates.
type painter struct {
	*Painting
	height, width  int            // of its pictures
	members, count int            // candidates of each member
	target         *engine.Tensor // [3, height, quads · 4]; nil: none
	prepared       *engine.Tensor // [M · count, triangles, 16]
	faulty         *engine.Tensor // [M · count] u32
	errors         *engine.Tensor // [M · count, tiles], or with a scorer [M · count, 1]: the scores
	pictures       *engine.Tensor // [M · count, height, width, 3]; nil: they are not stored
}

// newPainter makes what evaluates so many candidates of each member.
func (p *Painting) newPainter(s *engine.State, members, count int) *painter {
	x := p.newCanvas(s, members, count, p.height, p.width)
	candidate := engine.Axis("candidate", members*count)
	if p.scorer != nil {
		x.pictures = s.Staging("pictures", engine.Float32, candidate, engine.Axis("number", 3*p.height*p.width))
		x.errors = s.Staging("scores", engine.Float32, candidate)
		return x
	}
	x.errors = s.Scratch("errors", engine.Float32, candidate, engine.Axis("tile", p.tiles(s.Engine(), p.height, p.width)))
	x.target = engine.Constant(s, "target", p.target.planes, engine.Axis("number", 3*p.height*((p.width+3)/4*4)))
	return x
}

// newCanvas makes what prepares candidates to be painted in some size.
func (p *Painting) newCanvas(s *engine.State, members, count, height, width int) *painter {
	candidate := engine.Axis("candidate", members*count)
	return &painter{
		Painting: p, height: height, width: width, members: members, count: count,
		prepared: s.Scratch("triangles", engine.Float32, candidate, engine.Axis("triangle", p.cfg.Triangles), engine.Axis("number", 16)),
		faulty:   s.Scratch("faulty", engine.Uint32, candidate),
	}
}

// invocations returns the size of the workgroups that paint a tile each. Larger tiles have more triangles; smaller ones take longer to begin than to paint.
func (p *Painting) invocations(eng *engine.Engine) uint32 {
	info := eng.Device().Info()
	least := uint32(16)
	if info.Type.GPU() {
		least = 64
	}
	return max(p.workgroup, least, info.SubgroupSize)
}

// tiles returns the number of tiles of a picture; see shaders/ec/problem/paint.glsl.
func (p *Painting) tiles(eng *engine.Engine, height, width int) int {
	workgroup, quads := int(p.invocations(eng)), 4
	if workgroup >= 64 {
		quads = 8
	}
	rows, columns := workgroup/quads*4, 4*quads
	return (height + rows - 1) / rows * ((width + columns - 1) / columns)
}

func (x *painter) words() uint32 { return uint32(x.cfg.Triangles+31) / 32 }

// prepare records preparing the triangles of candidates [M · count, row].
func (x *painter) prepare(r *engine.Recorder, candidates *engine.Tensor) {
	n := x.members * x.count
	r.Dispatch(trianglesKernel{
		Candidates: candidates.Range(), Prepared: x.prepared.Range(), Faulty: x.faulty.Range(), Row: uint32(candidates.Len() / n),
		Triangles: uint32(x.cfg.Triangles), Height: uint32(x.height), Width: uint32(x.width), Workgroup: r.Workgroup(),
	}.call(uint32(n), 1, 1))
}

// paint records painting the prepared candidates into pictures.
func (x *painter) paint(r *engine.Recorder) {
	r.Dispatch(pictureKernel{
		Prepared: x.prepared.Range(), Picture: x.pictures.Range(), Triangles: uint32(x.cfg.Triangles), Height: uint32(x.height), Width: uint32(x.width),
		Workgroup: x.invocations(r.Engine()), Words: x.words(),
	}.call(uint32(x.tiles(r.Engine(), x.height, x.width)), uint32(x.members*x.count), 1))
}

// score records evaluating candidates [M · count, row] into fitness [M, N], from each member's candidate first on.
func (x *painter) score(r *engine.Recorder, candidates *engine.Tensor, first int, fitness *engine.Tensor) {
	x.prepare(r, candidates)
	n := uint32(x.members * x.count)
	k := paintedKernel{
		Errors: x.errors.Range(), Faulty: x.faulty.Range(), Fitness: fitness.Range(), Tiles: uint32(x.errors.Len()) / n, Window: uint32(x.count),
		Population: uint32(fitness.Len() / x.members), First: uint32(first), Offset: 1, Factor: -1 / float32(3*x.height*x.width),
	}
	if x.scorer == nil {
		r.Dispatch(paintingKernel{
			Prepared: x.prepared.Range(), Target: x.target.Range(), Errors: x.errors.Range(),
			Triangles: uint32(x.cfg.Triangles), Height: uint32(x.height), Width: uint32(x.width), Workgroup: x.invocations(r.Engine()), Words: x.words(),
		}.call(k.Tiles, n, 1))
	} else {
		x.paint(r)
		r.Host("score "+x.name, x.ask)
		k.Offset, k.Factor = 0, 1
	}
	k.Workgroup = r.WorkgroupFor(int(k.Tiles))
	r.Dispatch(k.call(n, 1, 1))
}

// ask lets the scorer score the pictures.
func (x *painter) ask(ctx context.Context) (err error) {
	pictures, err := engine.Mapped[float32](x.pictures)
	if err != nil {
		return err
	}
	scores, err := engine.Mapped[float32](x.errors)
	if err != nil {
		return err
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the scorer panicked: %v", v)
		}
	}()
	clear(scores)
	if err := x.scorer(ctx, pictures, scores); err != nil {
		return err
	}
	return x.errors.Flush()
}
