package view

import (
	"image"
	"image/color"
	"math"
	"runtime"
	"sync"

	"github.com/evorl/evorl/envs"
)

// The lights that pictures and the page share. Colours are linear.
var (
	sunward = vec{-0.42, -0.62, 0.95}.unit()
	sunside = sunward.cross(vec{0, 0, 1}).unit()
	sunup   = sunside.cross(sunward)
	sun     = vec{1.05, 0.98, 0.88}
	sky     = vec{0.40, 0.46, 0.55} // light on surfaces that face up
	earth   = vec{0.22, 0.21, 0.20} // and down
	zenith  = vec{0.28, 0.45, 0.70}
	horizon = vec{0.80, 0.86, 0.92}
	tiles   = [2]vec{{0.62, 0.66, 0.71}, {0.47, 0.52, 0.58}}
)

const fieldOfView = 45 // degrees, vertical, as in MuJoCo

// eye is the camera at a moment.
type eye struct {
	at                 vec
	right, up, forward vec
	focal              float64 // pixels
	width, height      int
	tile               float64 // edge of the ground's tiles
	reach              float64 // distance at which the ground disappears in the haze
}

func (s *Show) eye(followed [2]float64, width, height int) eye {
	c := s.env.Geometry.Camera
	sinA, cosA := math.Sincos(c.Azimuth * math.Pi / 180)
	sinE, cosE := math.Sincos(c.Elevation * math.Pi / 180)
	e := eye{forward: vec{cosE * cosA, cosE * sinA, sinE}, right: vec{sinA, -cosA, 0}, width: width, height: height}
	e.up = e.right.cross(e.forward)
	e.at = vec(c.LookAt).add(vec{followed[0], followed[1], 0}).sub(e.forward.mul(c.Distance))
	// Narrow pictures are seen from farther away, so that the sides stay visible.
	e.focal = float64(height) / 2 / math.Tan(fieldOfView*math.Pi/360) * min(1, float64(width)/float64(height)/1.2)
	e.tile, e.reach = tileEdge(c.Distance), 9*c.Distance
	return e
}

// tileEdge returns a round number near a fourth of the distance.
func tileEdge(distance float64) float64 {
	scale := math.Pow(10, math.Floor(math.Log10(distance/4)))
	switch of := distance / 4 / scale; {
	case of < 1.5:
		return scale
	case of < 3.5:
		return 2 * scale
	case of < 7.5:
		return 5 * scale
	}
	return 10 * scale
}

// Draw draws the episode at a time in seconds. A pixel has samples squared rays.
func (s *Show) Draw(seconds float64, width, height, samples int) *image.RGBA {
	poses, followed := s.moment(seconds)
	p := picture{
		eye: s.eye(followed, width, height), solids: solids(s.env.Geometry.Shapes, poses),
		samples: samples, image: image.NewRGBA(image.Rect(0, 0, width, height)),
	}
	p.draw()
	return p.image
}

// picture is drawn with rays: first one per pixel, then more where neighbours differ.
type picture struct {
	eye
	solids  []solid
	samples int
	image   *image.RGBA
	rough   []vec // with one ray per pixel, as screen values
}

const square = 16 // pixels

func (p *picture) draw() {
	p.rough = make([]vec, p.width*p.height)
	p.squares(func(x, y int, visible []*solid) {
		c := p.light(visible, p.ray(x, y, 0.5, 0.5), roughSuns)
		p.rough[y*p.width+x] = vec{screen(c[0]), screen(c[1]), screen(c[2])}
	})
	p.squares(func(x, y int, visible []*solid) {
		c := p.rough[y*p.width+x]
		if p.samples > 1 && p.uneven(x, y) {
			sum := vec{}
			for i := range p.samples * p.samples {
				u, v := (float64(i%p.samples)+0.5)/float64(p.samples), (float64(i/p.samples)+0.5)/float64(p.samples)
				sum = sum.add(p.light(visible, p.ray(x, y, u, v), i))
			}
			sum = sum.mul(1 / float64(p.samples*p.samples))
			c = vec{screen(sum[0]), screen(sum[1]), screen(sum[2])}
		}
		p.image.SetRGBA(x, y, color.RGBA{uint8(c[0] + 0.5), uint8(c[1] + 0.5), uint8(c[2] + 0.5), 255})
	})
}

// uneven reports whether a pixel differs visibly from a neighbour.
func (p *picture) uneven(x, y int) bool {
	const least = 4 // of 255
	c := p.rough[y*p.width+x]
	for _, at := range [4][2]int{{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}} {
		if at[0] < 0 || at[1] < 0 || at[0] >= p.width || at[1] >= p.height {
			continue
		}
		d := p.rough[at[1]*p.width+at[0]].sub(c)
		if d.dot(d) > least*least {
			return true
		}
	}
	return false
}

// ray returns the direction of a position in a pixel.
func (p *picture) ray(x, y int, u, v float64) vec {
	return p.forward.mul(p.focal).add(p.right.mul(float64(x) + u - float64(p.width)/2)).add(p.up.mul(float64(p.height)/2 - float64(y) - v)).unit()
}

// squares calls f for every pixel, with the solids that may be visible there, from several goroutines.
func (p *picture) squares(f func(x, y int, visible []*solid)) {
	columns, rows := (p.width+square-1)/square, (p.height+square-1)/square
	next := make(chan int, columns*rows)
	for i := range columns * rows {
		next <- i
	}
	close(next)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				left, top := i%columns*square, i/columns*square
				visible := p.visible(float64(left), float64(top))
				for y := top; y < min(top+square, p.height); y++ {
					for x := left; x < min(left+square, p.width); x++ {
						f(x, y, visible)
					}
				}
			}
		})
	}
	wait.Wait()
}

// visible returns the solids that may be visible in the square of pixels with the given corner.
func (p *picture) visible(left, top float64) []*solid {
	var out []*solid
	for i := range p.solids {
		s := &p.solids[i]
		to := s.pos.sub(p.at)
		depth := p.forward.dot(to)
		if depth > s.radius {
			reach := s.radius / (depth - s.radius) * p.focal * 1.5
			x, y := float64(p.width)/2+p.right.dot(to)/depth*p.focal, float64(p.height)/2-p.up.dot(to)/depth*p.focal
			if x+reach < left || x-reach > left+square || y+reach < top || y-reach > top+square {
				continue
			}
		} else if depth < -s.radius {
			continue
		}
		out = append(out, s)
	}
	return out
}

// light returns the light from a direction. ray is the number of the ray in its pixel, which selects a part of the sun.
func (p *picture) light(visible []*solid, along vec, ray int) vec {
	nearest, normal, at := far, vec{}, (*solid)(nil)
	for _, s := range visible {
		if t, n := s.hit(p.at, along); t < nearest {
			nearest, normal, at = t, n, s
		}
	}
	air := horizon.mix(zenith, math.Sqrt(max(0, along[2])))
	if at == nil {
		return air
	}
	point := p.at.add(along.mul(nearest))
	base := at.color
	if at.form == envs.PlaneShape {
		base = p.ground(at, point, nearest, -normal.dot(along))
	}
	lit := p.lit(point.add(normal.mul(1e-4)), normal, ray)
	open := 1.0
	for i := range p.solids {
		if s := &p.solids[i]; s != at {
			open *= 1 - 0.85*s.shade(point, normal)
		}
	}
	ambient := earth.mix(sky, 0.5+0.5*normal[2]).mul(open)
	color := base.by(ambient.add(sun.mul(0.8 * lit * max(0, normal.dot(sunward)))))
	if at.form != envs.PlaneShape {
		half := sunward.sub(along).unit()
		shine := 0.22 * math.Pow(max(0, normal.dot(half)), 48) * lit
		edge := 0.10 * math.Pow(1+normal.dot(along), 4) // a rim of sky
		return color.add(sun.mul(shine)).add(sky.mul(edge))
	}
	haze := 1 - math.Exp(-nearest*nearest/p.reach/p.reach)
	return color.mix(horizon, haze)
}

// roughSuns as the number of a ray stands for several points spread over the sun.
const roughSuns = -1

// lit returns the part of the sun that shines on a point: 0 or 1 for one ray.
func (p *picture) lit(point, normal vec, ray int) float64 {
	if normal.dot(sunward) <= 0 {
		return 0
	}
	var between [16]*solid // solids that may hide part of the sun; more cannot be distinguished
	found := between[:0]
	for i := range p.solids {
		if s := &p.solids[i]; s.form != envs.PlaneShape && len(found) < len(between) {
			to := s.pos.sub(point)
			if ahead := to.dot(sunward); ahead > -s.radius {
				reach := s.radius + sunSize*max(0, ahead)
				if to.dot(to)-ahead*ahead <= reach*reach {
					found = append(found, s)
				}
			}
		}
	}
	switch {
	case len(found) == 0:
		return 1
	case ray != roughSuns:
		return shines(found, point, ray, p.samples*p.samples)
	}
	const few = 5
	sum := 0.0
	for i := range few {
		sum += shines(found, point, i, few) / few
	}
	return sum
}

// sunSize is half the angular size of the sun, larger than the real one for soft shadows.
const sunSize = 0.045

// shines returns 1 if point i of n on the sun, spread by the golden angle, is not hidden, else 0.
func shines(between []*solid, point vec, i, n int) float64 {
	radius := sunSize * math.Sqrt((float64(i)+0.5)/float64(n))
	sin, cos := math.Sincos(float64(i) * 2.399963229728653)
	toward := sunward.add(sunside.mul(radius * cos)).add(sunup.mul(radius * sin)).unit()
	for _, s := range between {
		if t, _ := s.hit(point, toward); t < far {
			return 0
		}
	}
	return 1
}

// ground returns the colour of the ground's tiles, averaged over the width of a ray, which grows with distance and slant.
func (p *picture) ground(s *solid, point vec, distance, slant float64) vec {
	local := s.axes.in(point.sub(s.pos))
	width := distance / p.focal / max(slant, 0.02) / p.tile / float64(p.samples)
	share := func(x float64) float64 {
		return 2 * (ramp(x-width/2) - ramp(x+width/2)) / width
	}
	return tiles[0].mix(tiles[1], 0.5-0.5*share(local[0]/p.tile)*share(local[1]/p.tile))
}

// ramp is an integral of the tile pattern.
func ramp(x float64) float64 { return math.Abs(x/2 - math.Floor(x/2) - 0.5) }

// screen converts light to a screen value from 0 to 255.
func screen(x float64) float64 { return 255 * math.Pow(min(max(x, 0), 1), 1/2.2) }
