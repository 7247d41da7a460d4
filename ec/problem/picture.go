package problem

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"

	"github.com/evorl/evorl/internal/regular"
)

// Picture is a picture in red, green and blue.
type Picture struct {
	Height, Width int
	Pixels        []byte // [height][width][3], 0 to 255
}

// MaxSide is the most pixels of a picture's side: edge functions are whole numbers that floats hold exactly.
const MaxSide = 1024

const (
	maxPicture     = 1 << 28 // bytes of a file
	maxFilePixels  = 1 << 26 // of a file, before it is scaled down
	pictureFormats = "want a PNG file"
)

// ReadPicture reads a PNG file. Transparent parts are composed on white. A picture with a side longer than size is scaled down to it in proportion, by
// means over areas.
//
// Errors: a file that is missing, damaged, no PNG or of more than 67,108,864 pixels; a size that is not 1 to 1024.
func ReadPicture(path string, size int) (*Picture, error) {
	data, err := regular.ReadLinked(path, maxPicture)
	if err != nil {
		return nil, err
	}
	return DecodePicture(path, data, size)
}

// DecodePicture is ReadPicture of a file's contents; name is the file in errors.
func DecodePicture(name string, data []byte, size int) (*Picture, error) {
	if size < 1 || size > MaxSide {
		return nil, fmt.Errorf("problem: a picture scaled down to %d pixels; want 1 to %d", size, MaxSide)
	}
	cfg, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w: %s", name, err, pictureFormats)
	}
	if cfg.Width < 1 || cfg.Height < 1 || cfg.Width > maxFilePixels/cfg.Height {
		return nil, fmt.Errorf("%s has %d × %d pixels: want at most %d", name, cfg.Width, cfg.Height, maxFilePixels)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w: %s", name, err, pictureFormats)
	}
	height, width := within(cfg.Height, cfg.Width, size)
	return scaled(img, height, width), nil
}

// within returns the sides of a picture in proportion, of which the longer one is at most size.
func within(height, width, size int) (int, int) {
	longest := max(height, width)
	if longest <= size {
		return height, width
	}
	return max(1, (height*size+longest/2)/longest), max(1, (width*size+longest/2)/longest)
}

// scaled returns an image on white, scaled down. A pixel is the mean over its area; weights are whole numbers, so that the result is the same everywhere.
func scaled(img image.Image, height, width int) *Picture {
	from := img.Bounds()
	out := &Picture{Height: height, Width: width, Pixels: make([]byte, 3*height*width)}
	sums := make([][3]uint64, width) // of a row
	for row := range height {
		clear(sums)
		first, last := row*from.Dy(), (row+1)*from.Dy() // in 1/height of a source row
		for y := first / height; y*height < last; y++ {
			down := uint64(min(last, (y+1)*height) - max(first, y*height))
			for x := range from.Dx() {
				r, g, b, a := img.At(from.Min.X+x, from.Min.Y+y).RGBA()
				white := uint64(0xffff - a)
				begin, end := x*width, (x+1)*width // in 1/Dx of a column
				for column := begin / from.Dx(); column*from.Dx() < end; column++ {
					weight := down * uint64(min(end, (column+1)*from.Dx())-max(begin, column*from.Dx()))
					sums[column][0] += weight * (uint64(r) + white)
					sums[column][1] += weight * (uint64(g) + white)
					sums[column][2] += weight * (uint64(b) + white)
				}
			}
		}
		most := 0xffff * uint64(from.Dx()) * uint64(from.Dy())
		for column, sum := range sums {
			for c, v := range sum {
				out.Pixels[3*(row*width+column)+c] = byte((255*v + most/2) / most)
			}
		}
	}
	return out
}

// Image returns the picture as an image of package image.
func (p *Picture) Image() image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, p.Width, p.Height))
	for i := range p.Height * p.Width {
		copy(img.Pix[4*i:], p.Pixels[3*i:3*i+3])
		img.Pix[4*i+3] = 255
	}
	return img
}

// check checks a picture that anybody may have made.
func (p *Picture) check() error {
	if p.Height < 1 || p.Width < 1 || p.Height > MaxSide || p.Width > MaxSide {
		return fmt.Errorf("problem: a picture of %d × %d pixels; want 1 to %d each", p.Width, p.Height, MaxSide)
	}
	if want := 3 * p.Height * p.Width; len(p.Pixels) != want {
		return fmt.Errorf("problem: %d bytes of a picture of %d × %d pixels; want %d", len(p.Pixels), p.Width, p.Height, want)
	}
	return nil
}

// planes returns the picture as numbers from 0 to 1, [3][height][width rounded up to quads of four].
func (p *Picture) planes() []float32 {
	row := (p.Width + 3) / 4 * 4
	out := make([]float32, 3*p.Height*row)
	for c := range 3 {
		for y := range p.Height {
			for x := range p.Width {
				out[(c*p.Height+y)*row+x] = float32(p.Pixels[3*(y*p.Width+x)+c]) / 255
			}
		}
	}
	return out
}

// DrawnPicture returns a picture drawn by code, a sun over the sea, of size × size pixels: for tests, and where no other is at hand.
//
// Errors: a size that is not 1 to 1024.
func DrawnPicture(size int) (*Picture, error) {
	if size < 1 || size > MaxSide {
		return nil, fmt.Errorf("problem: a drawn picture of %d pixels; want 1 to %d", size, MaxSide)
	}
	const samples = 3 // along each side of a pixel
	p := &Picture{Height: size, Width: size, Pixels: make([]byte, 3*size*size)}
	for i := range size * size {
		var sum [3]float64
		for s := range samples * samples {
			x := (float64(i%size) + (float64(s%samples)+0.5)/samples) / float64(size)
			y := (float64(i/size) + (float64(s/samples)+0.5)/samples) / float64(size)
			for c, v := range scene(x, y) {
				sum[c] += v
			}
		}
		for c, v := range sum {
			p.Pixels[3*i+c] = byte(math.Round(255 * v / (samples * samples)))
		}
	}
	return p, nil
}

// scene is the drawn picture's colour at a place of the unit square, x to the right and y down.
func scene(x, y float64) [3]float64 {
	mix := func(a, b [3]float64, t float64) (c [3]float64) {
		for i := range c {
			c[i] = a[i] + t*(b[i]-a[i])
		}
		return c
	}
	disc := func(cx, cy, r float64) bool { return math.Hypot(x-cx, y-cy) < r }
	const horizon = 0.62
	sun := [3]float64{1, 0.86, 0.42}
	switch {
	case disc(0.16, 0.86, 0.11), disc(0.27, 0.9, 0.09), disc(0.06, 0.9, 0.09): // an island
		return [3]float64{0.13, 0.25, 0.2}
	case y > horizon:
		sea := mix([3]float64{0.42, 0.5, 0.62}, [3]float64{0.05, 0.16, 0.33}, (y-horizon)/(1-horizon))
		if math.Abs(x-0.62) < 0.05+0.1*(y-horizon) { // light on the water
			return mix(sea, sun, 0.45*(1-(y-horizon)/(1-horizon)))
		}
		return sea
	case disc(0.62, 0.42, 0.14):
		return sun
	case disc(0.24, 0.2, 0.07), disc(0.33, 0.18, 0.09), disc(0.42, 0.21, 0.06): // a cloud
		return [3]float64{0.95, 0.9, 0.92}
	}
	return mix([3]float64{0.23, 0.32, 0.6}, [3]float64{0.97, 0.6, 0.42}, y/horizon)
}
