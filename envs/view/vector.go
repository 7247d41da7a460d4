package view

import (
	"math"

	"github.com/evorl/evorl/envs"
)

type vec [3]float64

func (a vec) add(b vec) vec            { return vec{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }
func (a vec) sub(b vec) vec            { return vec{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func (a vec) mul(s float64) vec        { return vec{s * a[0], s * a[1], s * a[2]} }
func (a vec) by(b vec) vec             { return vec{a[0] * b[0], a[1] * b[1], a[2] * b[2]} }
func (a vec) dot(b vec) float64        { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func (a vec) length() float64          { return math.Sqrt(a.dot(a)) }
func (a vec) unit() vec                { return a.mul(1 / a.length()) }
func (a vec) mix(b vec, t float64) vec { return a.mul(1 - t).add(b.mul(t)) }

func (a vec) cross(b vec) vec {
	return vec{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// axes are the columns of a rotation.
type axes [3]vec

func axesOf(p envs.Pose) axes {
	turned := envs.Pose{Rot: p.Rot}
	return axes{turned.Point([3]float64{1, 0, 0}), turned.Point([3]float64{0, 1, 0}), turned.Point([3]float64{0, 0, 1})}
}

// in converts a vector from the world to the frame.
func (m *axes) in(v vec) vec { return vec{m[0].dot(v), m[1].dot(v), m[2].dot(v)} }

// out converts a vector from the frame to the world.
func (m *axes) out(v vec) vec { return m[0].mul(v[0]).add(m[1].mul(v[1])).add(m[2].mul(v[2])) }
