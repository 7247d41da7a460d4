package problem

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDecodePicture: pictures are composed on white, and scaled down by means over areas.
func TestDecodePicture(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const height, width = 7, 11
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = byte(rng.IntN(256))
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	on := func(y, x, c int) float64 { // white, in float64
		at := img.Pix[img.PixOffset(x, y):]
		alpha := float64(at[3]) / 255
		return float64(at[c])*alpha + 255*(1-alpha)
	}
	for _, of := range []struct{ size, height, width int }{{11, 7, 11}, {100, 7, 11}, {4, 3, 4}, {1, 1, 1}} {
		p, err := DecodePicture("x.png", b.Bytes(), of.size)
		if err != nil || p.Height != of.height || p.Width != of.width || p.check() != nil {
			t.Fatalf("size %d: %+v, %v", of.size, p, err)
		}
		share := func(i, n, j, of int) float64 { // the part of pixel i of n that source pixel j of `of` covers
			low, high := float64(i)*float64(of)/float64(n), float64(i+1)*float64(of)/float64(n)
			return max(0, min(high, float64(j+1))-max(low, float64(j))) / (high - low)
		}
		for i, got := range p.Pixels {
			want, y, x := 0.0, i/3/p.Width, i/3%p.Width
			for sy := range height {
				for sx := range width {
					want += share(y, p.Height, sy, height) * share(x, p.Width, sx, width) * on(sy, sx, i%3)
				}
			}
			if math.Abs(float64(got)-want) > 0.51 {
				t.Fatalf("size %d: byte %d is %d; want %g", of.size, i, got, want)
			}
		}
		if c := color.NRGBAModel.Convert(p.Image().At(0, 0)).(color.NRGBA); [3]byte{c.R, c.G, c.B} != [3]byte(p.Pixels[:3]) || c.A != 255 {
			t.Errorf("an image of %v; want %v", c, p.Pixels[:3])
		}
	}
}

// TestReadPictureErrors: wrong files are one error that names the file.
func TestReadPictureErrors(t *testing.T) {
	drawn, err := DrawnPicture(3)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, drawn.Image()); err != nil {
		t.Fatal(err)
	}
	large := append([]byte(nil), b.Bytes()...)
	copy(large[16:], "\x00\x10\x00\x00\x00\x10\x00\x00") // 2^20 by 2^20, with a wrong checksum
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"missing": {nil, "no such file"},
		"empty":   {[]byte{}, "want a PNG file"},
		"text":    {[]byte("GIF89a"), "want a PNG file"},
		"short":   {b.Bytes()[:b.Len()/2], "want a PNG file"},
		"large":   {large, "want"},
	} {
		path := filepath.Join(t.TempDir(), name+".png")
		if c.data != nil {
			if err := os.WriteFile(path, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ReadPicture(path, 200); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name+".png") {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
	for _, size := range []int{-1, 0, 1025} {
		if _, err := DecodePicture("x.png", b.Bytes(), size); err == nil || !strings.Contains(err.Error(), "1 to 1024") {
			t.Errorf("size %d: %v", size, err)
		}
		if _, err := DrawnPicture(size); err == nil || !strings.Contains(err.Error(), "1 to 1024") {
			t.Errorf("drawn in size %d: %v", size, err)
		}
	}
}
