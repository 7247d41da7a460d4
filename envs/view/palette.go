package view

import (
	"cmp"
	"image"
	"image/color"
	"slices"
)

// colors is the palette of an animation.
type colors struct {
	palette color.Palette // the first is transparent
	nearest [1 << (3 * bits)]uint8
}

const bits = 5 // of each of red, green and blue that distinguish colours

func cell(r, g, b uint8) int {
	return int(r>>(8-bits))<<(2*bits) | int(g>>(8-bits))<<bits | int(b>>(8-bits))
}

// shade is the sum of the colours in a cell, and the number of pixels.
type shade struct {
	cell  int
	count int
	sum   [3]int
}

func (s *shade) at(channel int) float64 { return float64(s.sum[channel]) / float64(s.count) }

// palette chooses 255 colours for pictures by the median cut of the pixels' colours (P. Heckbert, "Color Image Quantization for Frame
// Buffer Display", 1982).
func palette(frames []*image.RGBA) *colors {
	cells := make([]shade, 1<<(3*bits))
	for _, f := range frames {
		for i := 0; i < len(f.Pix); i += 4 {
			s := &cells[cell(f.Pix[i], f.Pix[i+1], f.Pix[i+2])]
			s.count++
			for k := range 3 {
				s.sum[k] += int(f.Pix[i+k])
			}
		}
	}
	var used []shade
	for i, s := range cells {
		if s.cell = i; s.count > 0 {
			used = append(used, s)
		}
	}
	boxes := [][]shade{used}
	for len(boxes) < 255 {
		best, channel, score := -1, 0, 0.0
		for i, b := range boxes {
			if c, s := spread(b); s > score {
				best, channel, score = i, c, s
			}
		}
		if best < 0 {
			break
		}
		low, high := cut(boxes[best], channel)
		boxes[best] = low
		boxes = append(boxes, high)
	}
	c := &colors{palette: color.Palette{color.RGBA{}}}
	for _, b := range boxes {
		mean := shade{}
		for _, s := range b {
			mean.count += s.count
			for k := range 3 {
				mean.sum[k] += s.sum[k]
			}
			c.nearest[s.cell] = uint8(len(c.palette))
		}
		c.palette = append(c.palette, color.RGBA{uint8(mean.at(0) + 0.5), uint8(mean.at(1) + 0.5), uint8(mean.at(2) + 0.5), 255})
	}
	return c
}

// spread returns the channel in which colours differ most, and the benefit of a cut there: 0 for one colour.
func spread(of []shade) (channel int, score float64) {
	if len(of) < 2 {
		return 0, 0
	}
	pixels := 0
	for i := range of {
		pixels += of[i].count
	}
	for k := range 3 {
		low, high := 255.0, 0.0
		for i := range of {
			low, high = min(low, of[i].at(k)), max(high, of[i].at(k))
		}
		if s := (high - low) * (high - low) * float64(pixels); s > score {
			channel, score = k, s
		}
	}
	return channel, score
}

// cut divides colours so that each part has about half of the pixels.
func cut(of []shade, channel int) (low, high []shade) {
	slices.SortFunc(of, func(a, b shade) int {
		return cmp.Or(cmp.Compare(a.at(channel), b.at(channel)), cmp.Compare(a.cell, b.cell))
	})
	pixels := 0
	for i := range of {
		pixels += of[i].count
	}
	seen, at := 0, 0
	for at < len(of)-1 && (at == 0 || 2*seen < pixels) {
		seen += of[at].count
		at++
	}
	return of[:at:at], of[at:]
}

// paint maps a picture to the palette.
func (c *colors) paint(img *image.RGBA) *image.Paletted {
	out := image.NewPaletted(img.Bounds(), c.palette)
	for i := range out.Pix {
		out.Pix[i] = c.nearest[cell(img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2])]
	}
	return out
}

// change returns the pixels that differ from the previous picture, the others transparent. Without a previous picture it returns all.
func (c *colors) change(before, now *image.Paletted) *image.Paletted {
	if before == nil {
		return now
	}
	var box image.Rectangle
	out := image.NewPaletted(now.Bounds(), c.palette)
	for i, v := range now.Pix {
		if v != before.Pix[i] {
			out.Pix[i] = v
			x, y := i%now.Stride, i/now.Stride
			box = box.Union(image.Rect(x, y, x+1, y+1))
		}
	}
	if box.Empty() {
		box = image.Rect(0, 0, 1, 1)
	}
	return out.SubImage(box).(*image.Paletted)
}
