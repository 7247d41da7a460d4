package nn

import "fmt"

// Patches are where a convolution looks: a square window that moves over an image [InHeight, InWidth, Channels] without leaving it.
type Patches struct {
	InHeight, InWidth, Channels int // of the image; the channels of a pixel are contiguous
	Kernel, Stride              int // pixels of the window's side, and from one position to the next
}

// Height returns the number of positions in a column.
func (p Patches) Height() int { return (p.InHeight-p.Kernel)/p.Stride + 1 }

// Width returns the number of positions in a row.
func (p Patches) Width() int { return (p.InWidth-p.Kernel)/p.Stride + 1 }

// Size returns the number of floats of a patch.
func (p Patches) Size() int { return p.Kernel * p.Kernel * p.Channels }

// image returns the number of floats of the image.
func (p Patches) image() int { return p.InHeight * p.InWidth * p.Channels }

func (p Patches) check() error {
	switch {
	case p.InHeight < 1 || p.InWidth < 1 || p.Channels < 1:
		return fmt.Errorf("an image of %d × %d × %d; want at least 1 of each", p.InHeight, p.InWidth, p.Channels)
	case p.Kernel < 1 || p.Kernel > min(p.InHeight, p.InWidth) || p.Stride < 1:
		return fmt.Errorf("a kernel of %d × %d with stride %d over %d × %d pixels; want 1 to %d, and a stride of at least 1",
			p.Kernel, p.Kernel, p.Stride, p.InHeight, p.InWidth, min(p.InHeight, p.InWidth))
	}
	return nil
}
