package envs

import "math"

// Pose is the position and rotation of a body: its origin, and a unit quaternion w x y z. A zero quaternion is no
// rotation.
type Pose struct {
	Pos [3]float64
	Rot [4]float64
}

const quarter = math.Pi / 2

// about returns the rotation about a unit axis.
func about(axis [3]float64, angle float64) [4]float64 {
	sin, cos := math.Sincos(angle / 2)
	return [4]float64{cos, axis[0] * sin, axis[1] * sin, axis[2] * sin}
}

// tilted returns the rotation in the plane of x and z that turns up towards the right: clockwise when looking along
// y.
func tilted(angle float64) [4]float64 { return about([3]float64{0, 1, 0}, angle) }

// between returns the pose with the origin midway between two points and the z-axis from the first to the second, and
// their distance. Both points have the same y.
func between(from, to [3]float64) (Pose, float64) {
	x, z := to[0]-from[0], to[2]-from[2]
	return Pose{[3]float64{from[0] + x/2, from[1], from[2] + z/2}, tilted(math.Atan2(x, z))}, math.Hypot(x, z)
}

// On converts the pose from frame to the frame in which frame is given.
func (p Pose) On(frame Pose) Pose {
	return Pose{frame.Point(p.Pos), times(frame.Rot, p.Rot)}
}

// Point converts a point from the pose's frame to the frame in which the pose is given.
func (p Pose) Point(at [3]float64) [3]float64 {
	r := turned(p.Rot, at)
	return [3]float64{p.Pos[0] + r[0], p.Pos[1] + r[1], p.Pos[2] + r[2]}
}

// unit returns a quaternion normalised to length 1; a zero quaternion becomes no rotation.
func unit(q [4]float64) [4]float64 {
	n := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
	if n == 0 {
		return [4]float64{1, 0, 0, 0}
	}
	return [4]float64{q[0] / n, q[1] / n, q[2] / n, q[3] / n}
}

// times returns the rotation b in the frame of a.
func times(a, b [4]float64) [4]float64 {
	a, b = unit(a), unit(b)
	return [4]float64{
		a[0]*b[0] - a[1]*b[1] - a[2]*b[2] - a[3]*b[3],
		a[0]*b[1] + a[1]*b[0] + a[2]*b[3] - a[3]*b[2],
		a[0]*b[2] - a[1]*b[3] + a[2]*b[0] + a[3]*b[1],
		a[0]*b[3] + a[1]*b[2] - a[2]*b[1] + a[3]*b[0],
	}
}

// turned returns a vector rotated by a quaternion.
func turned(q [4]float64, v [3]float64) [3]float64 {
	q = unit(q)
	u := [3]float64{q[1], q[2], q[3]}
	t := cross(u, v)
	t = [3]float64{2 * t[0], 2 * t[1], 2 * t[2]}
	c := cross(u, t)
	return [3]float64{v[0] + q[0]*t[0] + c[0], v[1] + q[0]*t[1] + c[1], v[2] + q[0]*t[2] + c[2]}
}

func cross(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}
