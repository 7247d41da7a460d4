package problem

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
)

// madePicture returns a random picture.
func madePicture(rng *rand.Rand, height, width int) *Picture {
	p := &Picture{Height: height, Width: width}
	for range 3 * height * width {
		p.Pixels = append(p.Pixels, byte(rng.IntN(256)))
	}
	return p
}

// paintedBy returns the definition's picture [height][width][3] of a candidate, in float64. Only the scaling of columns is in float32, since whole numbers
// are made of it.
func paintedBy(x []float32, triangles, height, width int) []float64 {
	scaled := make([]float32, 10*triangles)
	for column := range 10 {
		low, high := x[column], x[column]
		for t := range triangles {
			low, high = min(low, x[10*t+column]), max(high, x[10*t+column])
		}
		for t := range triangles {
			if v := x[10*t+column]; low == high {
				scaled[10*t+column] = min(1, max(0, v))
			} else {
				scaled[10*t+column] = (v - low) / (high - low)
			}
		}
	}
	canvas := make([]float64, 3*height*width)
	for i := range canvas {
		canvas[i] = 1
	}
	for t := range triangles {
		of := scaled[10*t:][:10]
		var corner [3][2]int
		for i := range corner {
			corner[i] = [2]int{int(of[2*i] * float32(height-1)), int(of[2*i+1] * float32(width-1))}
		}
		alpha := float64(of[9]) * 0.5
		for i := range height * width {
			p := [2]int{i / width, i % width}
			positive, negative := true, true
			for k := range corner {
				a, b := corner[k], corner[(k+1)%3]
				cross := (p[0]-a[0])*(b[1]-a[1]) - (p[1]-a[1])*(b[0]-a[0])
				positive, negative = positive && cross >= 0, negative && cross <= 0
			}
			if positive || negative {
				for c := range 3 {
					canvas[3*i+c] = min(1, max(0, canvas[3*i+c]*(1-alpha)+float64(of[6+c])*alpha))
				}
			}
		}
	}
	return canvas
}

// TestPainting compares fitness and pictures with their definition in float64: sizes that no tile divides, a single triangle, parameters outside of [0, 1],
// columns of equal values, triangles without an area, and parameters that are not finite.
func TestPainting(t *testing.T) {
	const members, population, first, window = 2, 6, 1, 4
	eng := engine.New(open(t), engine.Seed(7))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []struct {
		height, width, triangles int
		workgroup                uint32
	}{{37, 22, 7, 0}, {1, 5, 3, 64}, {50, 129, 70, 0}, {16, 16, 1, 0}, {65, 33, 33, 64}, {50, 129, 70, 128}} {
		rng := rand.New(rand.NewPCG(uint64(of.height), 2))
		target := madePicture(rng, of.height, of.width)
		cfg := DefaultPainting()
		cfg.Triangles = of.triangles
		p, err := Paint("painting", target, cfg)
		must(err)
		p.workgroup = of.workgroup
		s := eng.NewState()
		evaluation, err := p.New(t.Context(), s, engine.NewClock(s), members, population)
		must(err)
		if evaluation.Window() != population {
			t.Fatalf("a window of %d of %d candidates", evaluation.Window(), population)
		}
		row := p.Space(members).Row()
		painter := p.newPainter(s.Sub("part"), members, window)
		painter.pictures = s.Scratch("pictures", engine.Float32, engine.Axis("number", members*window*3*of.height*of.width))
		candidates := s.Scratch("candidates", engine.Float32, engine.Members(members*window), engine.Axis("parameter", row))
		fitness := s.Scratch("fitness", engine.Float32, engine.Members(members), engine.Axis("candidate", population))
		must(s.Zero(t.Context()))
		must(s.Poison(t.Context()))
		x := make([]float32, candidates.Len())
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		for c := range members * window {
			candidate := x[c*row:][:10*of.triangles]
			switch c {
			case 1: // columns of equal values, within [0, 1] and outside
				for i := range candidate {
					if column := i % 10; column == 0 || column > 5 {
						candidate[i] = []float32{0.6, 1.5, 0.4, -2, 0.9}[column%5]
					}
				}
			case 2: // corners that coincide
				for i := range of.triangles {
					copy(candidate[10*i+2:][:4], slices.Repeat(candidate[10*i:][:2], 2))
				}
			case 3: // corners on a line
				for i := range of.triangles {
					copy(candidate[10*i+4:][:2], candidate[10*i:][:2])
				}
			case 4:
				candidate[len(candidate)-1] = float32(math.Inf(1))
			case 5:
				candidate[3] = float32(math.NaN())
			}
		}
		must(candidates.WriteFloat32(t.Context(), x))
		program, err := eng.Record("paintings", func(r *engine.Recorder) {
			painter.score(r, candidates, first, fitness)
			painter.paint(r)
		})
		must(err)
		var before []float32
		for again := range 2 {
			must(program.Run(t.Context()))
			got, err := fitness.ReadFloat32(t.Context())
			must(err)
			if again > 0 {
				if !slices.EqualFunc(got, before, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
					t.Errorf("%v: fitness %v, and %v before", of, got, before)
				}
				continue
			}
			before = got
			pictures, err := painter.pictures.ReadFloat32(t.Context())
			must(err)
			for m := range members {
				for i := range population {
					f := float64(got[m*population+i])
					c := m*window + i - first
					if i < first || i >= first+window || c == 4 || c == 5 {
						if f == f {
							t.Errorf("%v: candidate %d of member %d, outside of the window or not finite, has the fitness %g", of, i, m, f)
						}
						continue
					}
					want := paintedBy(x[c*row:][:10*of.triangles], of.triangles, of.height, of.width)
					sum := 0.0
					for k, v := range want {
						if d := math.Abs(float64(pictures[c*len(want)+k]) - v); !(d < 2e-6) {
							t.Fatalf("%v: candidate %d, number %d of its picture is %g; want %g", of, c, k, pictures[c*len(want)+k], v)
						}
						d := v - float64(target.Pixels[k])/255
						sum += d * d
					}
					if want := 1 - sum/float64(len(want)); !(math.Abs(f-want) < 2e-6) {
						t.Errorf("%v: candidate %d has the fitness %g; want %g", of, c, f, want)
					}
				}
			}
		}
		program.Free()
		evaluation.Close()
		must(s.Close())
	}
}

// TestPaintingLearns: a search paints a picture closer and closer, and its picture has the evaluated score.
func TestPaintingLearns(t *testing.T) {
	target, err := DrawnPicture(24)
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultPainting()
	cfg.Triangles = 8
	p, err := Paint("painting", target, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ec.NewSearch(t.Context(), engine.New(open(t), engine.Seed(3)), ec.DefaultPGPE(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	score := func() float64 {
		e, err := s.Evaluate(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return float64(e.Returns[0][0])
	}
	before := score()
	if err := engine.Learn(t.Context(), s, engine.Iterations(150)); err != nil {
		t.Fatal(err)
	}
	after := score()
	if 1-after > (1-before)/4 {
		t.Errorf("score %g after 150 generations, %g before", after, before)
	}
	img, err := s.Picture(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	picture, sum := scaled(img, 24, 24), 0.0
	for i, v := range picture.Pixels {
		d := (float64(v) - float64(target.Pixels[i])) / 255
		sum += d * d
	}
	if got := 1 - sum/float64(len(picture.Pixels)); math.Abs(got-after) > 1e-3 { // a picture is whole numbers to 255
		t.Errorf("the picture has the score %g, and its search %g", got, after)
	}
}

// TestPaintScored: the scorer sees the pictures of all candidates, and its scores are their fitness; its errors and panics end the run.
func TestPaintScored(t *testing.T) {
	cfg := DefaultPainting()
	cfg.Triangles = 5
	var fault error
	panics, seen := false, 0
	red := func(_ context.Context, pictures, scores []float32) error { // the mean red of a picture
		if panics {
			panic("no colours")
		}
		each := len(pictures) / len(scores)
		seen += len(scores)
		for i := range scores {
			for k := 0; k < each; k += 3 {
				scores[i] += pictures[i*each+k] / float32(each/3)
			}
		}
		return fault
	}
	p, err := PaintScored("red", 9, 13, red, cfg)
	if err != nil {
		t.Fatal(err)
	}
	algorithm := ec.DefaultPGPE()
	algorithm.Population = 6
	s, err := ec.NewSearch(t.Context(), engine.New(open(t), engine.Seed(3)), algorithm, p, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	e, err := s.Evaluate(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	start := p.Start(3, s.State().Stream("init"), 2)
	for m := range 2 {
		want := 0.0
		for i, v := range paintedBy(start[m*50:][:50], 5, 9, 13) {
			if i%3 == 0 {
				want += v / (9 * 13)
			}
		}
		if got := float64(e.Returns[m][0]); math.Abs(got-want) > 1e-5 {
			t.Errorf("member %d has the score %g; want %g", m, got, want)
		}
	}
	seen = 0
	if err := engine.Learn(t.Context(), s, engine.Iterations(2)); err != nil || seen != 2*2*6 {
		t.Errorf("%v, %d pictures; want 24", err, seen)
	}
	fault = errors.New("out of paint")
	if _, err := s.Evaluate(t.Context(), 1); !errors.Is(err, fault) {
		t.Errorf("%v; want %v", err, fault)
	}
	panics = true
	if _, err := s.Evaluate(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "no colours") {
		t.Errorf("%v; want the panic's text", err)
	}
}
