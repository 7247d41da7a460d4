package problem

import (
	"math"
	"sync"

	"github.com/evorl/evorl/engine"
)

// How digits are drawn.
const (
	drawnSize  = 28
	drawnTrain = 10000
	drawnTest  = 2000
	drawnAngle = 15.0 // degrees, either way
	drawnShift = 3.0  // pixels, either way
	drawnNoise = 0.1  // deviation
)

// point is a place in the glyphs' square of side 2, x to the right and y down, with the middle at 0.
type point struct{ x, y float64 }

// strokes are the glyphs of the ten digits, each of open or closed lines.
var strokes = func() [10][][]point {
	line := func(xy ...float64) (out []point) {
		for i := 0; i < len(xy); i += 2 {
			out = append(out, point{xy[i], xy[i+1]})
		}
		return out
	}
	// arc is part of an ellipse about (x, y), between two angles in degrees, 0 to the right and 90 down.
	arc := func(x, y, rx, ry, from, to float64) (out []point) {
		const pieces = 10
		for i := range pieces + 1 {
			sin, cos := math.Sincos((from + (to-from)*float64(i)/pieces) * math.Pi / 180)
			out = append(out, point{x + rx*cos, y + ry*sin})
		}
		return out
	}
	return [10][][]point{
		{arc(0, 0, 0.6, 0.9, 0, 360)},
		{line(-0.3, -0.5, 0.1, -0.9, 0.1, 0.9)},
		{append(arc(0, -0.4, 0.55, 0.5, 180, 390), line(-0.6, 0.9, 0.65, 0.9)...)},
		{arc(-0.05, -0.45, 0.5, 0.45, 200, 450), arc(-0.05, 0.45, 0.6, 0.45, 270, 520)},
		{line(0.35, 0.9, 0.35, -0.9, -0.6, 0.35, 0.7, 0.35)},
		{line(0.55, -0.9, -0.4, -0.9, -0.5, -0.1), arc(-0.05, 0.35, 0.6, 0.55, 220, 510)},
		{append(arc(0.5, 0.2, 1.05, 1.1, 265, 180), arc(0, 0.4, 0.55, 0.5, 180, 540)...)},
		{line(-0.6, -0.9, 0.6, -0.9, -0.15, 0.9)},
		{arc(0, -0.45, 0.45, 0.45, 0, 360), arc(0, 0.45, 0.55, 0.45, 0, 360)},
		{append(arc(0, -0.4, 0.5, 0.5, 0, 360), line(0.5, -0.4, 0.35, 0.9)...)},
	}
}()

// DrawnDigits returns images of 28 × 28 with digits drawn by strokes, turned, moved, scaled, of several widths and with noise: for tests, and where
// MNIST's files are not at hand. They are the same in every run, drawn once in a process, and not to be changed. They are easier than handwriting.
func DrawnDigits() *Images { return drawnDigits() }

var drawnDigits = sync.OnceValue(func() *Images {
	return &Images{
		Height: drawnSize, Width: drawnSize, Classes: len(strokes),
		Train: drawDigits(engine.Stream("digits/train"), drawnTrain), Test: drawDigits(engine.Stream("digits/test"), drawnTest),
	}
})

// drawDigits draws digits, each class as often, from a random stream.
func drawDigits(stream uint32, count int) Labelled {
	out := Labelled{Pixels: make([]byte, count*drawnSize*drawnSize), Labels: make([]byte, count)}
	for i := range count {
		digit := i % len(strokes)
		out.Labels[i] = byte(digit)
		drawDigit(out.Pixels[i*drawnSize*drawnSize:][:drawnSize*drawnSize], strokes[digit], engine.NewRng(0, stream, uint32(i), 0, 0))
	}
	return out
}

// drawDigit draws a glyph into an image.
func drawDigit(image []byte, glyph [][]point, rng *engine.Rng) {
	in := func(low, high float32) float64 { return float64(rng.UniformIn(low, high)) }
	sin, cos := math.Sincos(in(-drawnAngle, drawnAngle) * math.Pi / 180)
	scale := in(0.8, 1.2) * 10 // pixels of the glyph's unit
	moved := point{drawnSize/2 + in(-drawnShift, drawnShift), drawnSize/2 + in(-drawnShift, drawnShift)}
	half := in(0.8, 1.7) // half of the stroke's width, in pixels
	var ink [drawnSize * drawnSize]float64
	place := func(p point) point {
		return point{moved.x + scale*(cos*p.x-sin*p.y), moved.y + scale*(sin*p.x+cos*p.y)}
	}
	for _, stroke := range glyph {
		for i := range len(stroke) - 1 {
			a, b := place(stroke[i]), place(stroke[i+1])
			reach := half + 1
			for y := max(0, int(min(a.y, b.y)-reach)); y < min(drawnSize, int(max(a.y, b.y)+reach)+1); y++ {
				for x := max(0, int(min(a.x, b.x)-reach)); x < min(drawnSize, int(max(a.x, b.x)+reach)+1); x++ {
					d := distance(point{float64(x) + 0.5, float64(y) + 0.5}, a, b)
					ink[y*drawnSize+x] = max(ink[y*drawnSize+x], min(1, half+0.5-d))
				}
			}
		}
	}
	for i, v := range ink {
		image[i] = byte(math.Round(255 * min(1, max(0, v+drawnNoise*float64(rng.Normal())))))
	}
}

// distance returns how far p is from the line between a and b.
func distance(p, a, b point) float64 {
	dx, dy := b.x-a.x, b.y-a.y
	t := 0.0
	if length := dx*dx + dy*dy; length > 0 {
		t = min(1, max(0, ((p.x-a.x)*dx+(p.y-a.y)*dy)/length))
	}
	return math.Hypot(p.x-a.x-t*dx, p.y-a.y-t*dy)
}
