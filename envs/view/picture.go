package view

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// Picture configures a picture of an episode. The zero value is the episode's beginning, 480 by 320 pixels.
type Picture struct {
	At            float64 // seconds into the episode
	Seconds       float64 // length of an animation, at most to the end of the episode; 0: 8
	Width, Height int     // pixels; 0: 480 and 320
}

func (p Picture) resolved() Picture {
	if p.Seconds == 0 {
		p.Seconds = 8
	}
	if p.Width == 0 {
		p.Width = 480
	}
	if p.Height == 0 {
		p.Height = 320
	}
	return p
}

const (
	stillSamples  = 4 // squared: rays per pixel
	movingSamples = 2
	frameTime     = 0.05 // seconds; GIF counts hundredths, and browsers slow down below two
)

// WritePNG writes a still picture.
func (s *Show) WritePNG(w io.Writer, p Picture) error {
	p = p.resolved()
	return png.Encode(w, s.frame(p, p.At, stillSamples))
}

// WriteGIF writes an animation in real time, which repeats forever.
func (s *Show) WriteGIF(w io.Writer, p Picture) error {
	p = p.resolved()
	end := min(p.At+p.Seconds, s.Seconds())
	var frames []*image.RGBA
	for i := 0; ; i++ {
		at := p.At + float64(i)*frameTime
		if i > 0 && at > end {
			break
		}
		frames = append(frames, s.frame(p, at, movingSamples))
	}
	colors := palette(frames)
	out := gif.GIF{Config: image.Config{ColorModel: colors.palette, Width: p.Width, Height: p.Height}}
	var before *image.Paletted
	for i, f := range frames {
		whole := colors.paint(f)
		out.Image = append(out.Image, colors.change(before, whole))
		out.Disposal = append(out.Disposal, gif.DisposalNone)
		delay := int(math.Round(100 * frameTime))
		if i == len(frames)-1 {
			delay = 100 // before it repeats
		}
		out.Delay = append(out.Delay, delay)
		before = whole
	}
	return gif.EncodeAll(w, &out)
}

// frame draws a moment with the return so far.
func (s *Show) frame(p Picture, at float64, samples int) *image.RGBA {
	img := s.Draw(at, p.Width, p.Height, samples)
	label(img, fmt.Sprintf("%s   %.1f s   return %.*f", s.Title, min(at, s.Seconds()), digits(s.episode.Return()), s.returned(at)))
	return img
}

// digits returns the number of decimals with which a return is shown.
func digits(of float32) int {
	if math.Abs(float64(of)) < 100 {
		return 1
	}
	return 0
}

// label writes a line in the lower left corner.
func label(img *image.RGBA, text string) {
	d := font.Drawer{Dst: img, Face: basicfont.Face7x13, Src: image.NewUniform(color.RGBA{24, 28, 36, 255})}
	box := image.Rect(0, img.Bounds().Dy()-20, d.MeasureString(text).Ceil()+16, img.Bounds().Dy())
	draw.Draw(img, box, image.NewUniform(color.NRGBA{255, 255, 255, 150}), image.Point{}, draw.Over)
	d.Dot = fixed.P(8, img.Bounds().Dy()-6)
	d.DrawString(text)
}
