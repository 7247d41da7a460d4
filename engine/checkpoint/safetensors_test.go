package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func floats(values ...float32) io.Reader {
	b, _ := binary.Append(nil, binary.LittleEndian, values)
	return bytes.NewReader(b)
}

func words(values ...uint32) io.Reader {
	b, _ := binary.Append(nil, binary.LittleEndian, values)
	return bytes.NewReader(b)
}

func TestSafetensorsLayout(t *testing.T) {
	var b bytes.Buffer
	err := WriteSafetensors(&b, []Tensor{
		{"w", F32, []int{2, 1}, floats(1, -2)},
		{"n", U32, nil, words(7)},
	}, map[string]string{"k": "v"})
	if err != nil {
		t.Fatal(err)
	}
	header := `{"__metadata__":{"k":"v"},"n":{"dtype":"U32","shape":[],"data_offsets":[8,12]},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}`
	header += strings.Repeat(" ", (8-len(header)%8)%8)
	want := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	want = append(want, header...)
	want = append(want, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 7, 0, 0, 0)
	if !bytes.Equal(b.Bytes(), want) {
		t.Fatalf("wrote\n%q\nwant\n%q", b.Bytes(), want)
	}
}

// Any set of tensors, with scalars, empty ones and odd names, comes back as it was.
func TestSafetensorsRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var in []Tensor
		data := map[string][]byte{}
		for i := range r.IntN(8) {
			shape := make([]int, r.IntN(4))
			for j := range shape {
				shape[j] = r.IntN(4) // zero too
			}
			tensor := Tensor{fmt.Sprintf("a/b\"<é>.%d.%d", r.IntN(100), i), []DType{F32, U32, I32}[r.IntN(3)], shape, nil}
			n, err := tensor.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			bytesOf := make([]byte, n)
			for j := range bytesOf {
				bytesOf[j] = byte(r.Uint32())
			}
			data[tensor.Name] = bytesOf
			tensor.Data = bytes.NewReader(bytesOf)
			in = append(in, tensor)
		}
		var b bytes.Buffer
		if err := WriteSafetensors(&b, in, nil); err != nil {
			t.Fatal(err)
		}
		out, _, err := ReadSafetensors(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if len(out) != len(in) {
			t.Fatalf("%d tensors; want %d", len(out), len(in))
		}
		for _, got := range out {
			i := slices.IndexFunc(in, func(x Tensor) bool { return x.Name == got.Name })
			content, err := io.ReadAll(got.Data)
			if i < 0 || err != nil || in[i].DType != got.DType || !slices.Equal(in[i].Shape, got.Shape) || !bytes.Equal(content, data[got.Name]) {
				t.Fatalf("tensor %q came back as %v %v %v, %v", got.Name, got.DType, got.Shape, content, err)
			}
		}
	}
}

func TestSafetensorsRefusesToWrite(t *testing.T) {
	cases := map[string][]Tensor{
		"ends after 4 bytes":    {{"a", F32, []int{2}, floats(1)}},
		"goes on after":         {{"a", F32, []int{1}, floats(1, 2)}},
		"no data":               {{"a", F32, []int{1}, nil}},
		"given twice":           {{"a", F32, []int{1}, floats(1)}, {"a", F32, []int{1}, floats(1)}},
		"want one of F32":       {{"a", "F64", []int{1}, floats(1, 2)}},
		"negative":              {{"a", F32, []int{-1}, floats()}},
		"overflows":             {{"a", F32, []int{1 << 40, 1 << 40}, floats()}},
		"other than":            {{"__metadata__", F32, nil, floats(1)}},
		"non-empty":             {{"", F32, nil, floats(1)}},
		"want non-empty UTF-8 ": {{"\xff", F32, nil, floats(1)}},
	}
	for want, tensors := range cases {
		err := WriteSafetensors(io.Discard, tensors, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one with %q", err, want)
		}
	}
}

func TestSafetensorsRefusesToRead(t *testing.T) {
	file := func(header string, data int) []byte {
		b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		return append(append(b, header...), make([]byte, data)...)
	}
	cases := map[string][]byte{
		"too short":            []byte("abc"),
		"does not fit":         binary.LittleEndian.AppendUint64(nil, 1<<63),
		"invalid character":    file(`{"a"`+"\x00", 0),
		"unexpected end":       file(`{"a":`, 0),
		"cannot lie at [0 8]":  file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}`, 8),
		"cannot lie at [4 8]":  file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 4),
		"cannot lie at [-4 0]": file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}`, 4),
		"where 0 is next":      file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8),
		"where 4 is next":      file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4),
		"end at 4 of 8":        file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 8),
		`element type "BF16"`:  file(`{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}`, 4),
		"unknown field":        file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}}`, 4),
		"metadata":             file(`{"__metadata__":{"a":1}}`, 0),
		"overflows":            file(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`, 0),
	}
	for want, content := range cases {
		_, _, err := ReadSafetensors(bytes.NewReader(content), int64(len(content)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want one with %q", err, want)
		}
	}
}

// A header of more tensors than any state has is refused at once, on both sides.
func TestTooManyTensors(t *testing.T) {
	many := make([]Tensor, maxTensors+1)
	header := map[string]headerEntry{}
	for i := range many {
		name := fmt.Sprint("t", i)
		many[i] = Tensor{Name: name, DType: F32, Shape: []int{0}, Data: strings.NewReader("")}
		header[name] = headerEntry{F32, []int{0}, [2]int64{}}
	}
	if err := WriteSafetensors(io.Discard, many, nil); err == nil || !strings.Contains(err.Error(), "65537 tensors: want at most 65536") {
		t.Errorf("error %v", err)
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	if _, _, err := ReadSafetensors(bytes.NewReader(file), int64(len(file))); err == nil || !strings.Contains(err.Error(), "65537 tensors: want at most 65536") {
		t.Errorf("error %v", err)
	}
	file = append(binary.LittleEndian.AppendUint64(nil, maxHeaderBytes+1), make([]byte, maxHeaderBytes+1)...)
	if _, _, err := ReadSafetensors(bytes.NewReader(file), int64(len(file))); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("error %v", err)
	}
}
