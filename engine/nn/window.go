package nn

import "github.com/evorl/evorl/engine/config"

// Padding is how a convolution or pool treats the borders of its image.
type Padding uint32

const (
	// Valid places the window only where all of it lies inside the image: (height - kernel) / stride + 1 places, rounded down.
	Valid Padding = iota
	// Same surrounds the image by zeros, so that there are height / stride places, rounded up. If the zeros are odd in number, one more is
	// below and to the right, as in TensorFlow, JAX and ONNX's SAME_UPPER.
	Same
)

var paddingNames = [...]string{"valid", "same"}

// String returns the padding's name.
func (p Padding) String() string { return config.NameOf(p, paddingNames[:]) }

// UnmarshalText parses a padding's name: valid or same.
func (p *Padding) UnmarshalText(text []byte) error {
	return config.UnmarshalName(p, "padding", paddingNames[:], text)
}

// MarshalText returns a padding's name.
func (p Padding) MarshalText() ([]byte, error) {
	return config.MarshalName(p, "padding", paddingNames[:])
}

// Window is how a convolution or pool goes over its image: a square of Kernel × Kernel pixels, placed at every Stride-th row and column of the image
// and of the zeros around it.
type Window struct {
	Height, Width, Channels int // of the image
	Kernel, Stride          int
	Top, Left               int // rows and columns of zeros before the image
	OutHeight, OutWidth     int // places of the window
}

// windowOver returns a window over images of a shape [height, width, channels].
func windowOver(image Shape, kernel, stride int, padding Padding) Window {
	w := Window{Height: image[0], Width: image[1], Channels: image[2], Kernel: kernel, Stride: stride}
	along := func(size int) (places, before int) {
		if padding == Same {
			places = ceil(size, stride)
			return places, max((places-1)*stride+kernel-size, 0) / 2
		}
		return max(size-kernel+stride, 0) / stride, 0
	}
	w.OutHeight, w.Top = along(w.Height)
	w.OutWidth, w.Left = along(w.Width)
	return w
}

// places returns the number of places of the window.
func (w Window) places() int { return w.OutHeight * w.OutWidth }

// patch returns the number of floats under the window.
func (w Window) patch() int { return w.Kernel * w.Kernel * w.Channels }

// Bottom returns the rows of zeros after the image that the window reaches.
func (w Window) Bottom() int { return max((w.OutHeight-1)*w.Stride+w.Kernel-w.Height-w.Top, 0) }

// Right returns the columns of zeros after the image that the window reaches.
func (w Window) Right() int { return max((w.OutWidth-1)*w.Stride+w.Kernel-w.Width-w.Left, 0) }
