package envs

import "math"

// Scene is what a viewer shows of a state: shapes in the environment's own units, x to the right, y up, drawn in order.
type Scene struct {
	Left, Right, Bottom, Top float32 // the part of the world to show
	Shapes                   []Shape
}

// Shape is a polygon or line through Points, or a disc, placed by its transform: scaled by nothing, turned by Angle
// (radians, counter-clockwise) about its origin, then moved to X, Y.
type Shape struct {
	Name        string
	X, Y, Angle float32
	Points      [][2]float32 // corners of a polygon (Closed) or of a line; empty for a disc
	Closed      bool
	Radius      float32 // of the disc
	Fill        uint32  // 0xRRGGBB
}

// Corners are a shape's points in the world.
func (s Shape) Corners() [][2]float32 {
	sin, cos := math.Sincos(float64(s.Angle))
	out := make([][2]float32, len(s.Points))
	for i, p := range s.Points {
		x, y := float64(p[0]), float64(p[1])
		out[i] = [2]float32{s.X + float32(cos*x-sin*y), s.Y + float32(sin*x+cos*y)}
	}
	return out
}

// Colours of the scenes.
const (
	black = 0x202020
	wood  = 0xCA9865
	red   = 0xCC4D4D
	blue  = 0x4C72B0
	grey  = 0x909090
	green = 0x55A868
)

// block is a filled rectangle with its origin at the middle of the box.
func block(name string, x, y, width, height float32, fill uint32) Shape {
	w, h := width/2, height/2
	return Shape{Name: name, X: x, Y: y, Points: [][2]float32{{-w, -h}, {w, -h}, {w, h}, {-w, h}}, Closed: true, Fill: fill}
}

// rod is a filled bar that begins at its origin and, at angle 0, points up.
func rod(name string, x, y, angle, length, width float32, fill uint32) Shape {
	w := width / 2
	return Shape{Name: name, X: x, Y: y, Angle: angle, Points: [][2]float32{{-w, 0}, {w, 0}, {w, length}, {-w, length}}, Closed: true, Fill: fill}
}

func disc(name string, x, y, radius float32, fill uint32) Shape {
	return Shape{Name: name, X: x, Y: y, Radius: radius, Fill: fill}
}

func line(name string, fill uint32, points ...[2]float32) Shape {
	return Shape{Name: name, Points: points, Fill: fill}
}
