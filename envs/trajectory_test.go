package envs

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// trajectory is a file of testdata, written by tools/reference/envs.py, which documents the arrays.
type trajectory struct {
	meta   string
	start  []int // first row of each episode, and the number of rows
	state  [][]float64
	obs    [][]float64
	action [][]float64
	reward []float64
	done   []Done
}

func (t *trajectory) episodes() int { return len(t.start) - 1 }

// episode returns the rows and steps of an episode: step k leads from row first+k to the next.
func (t *trajectory) episode(i int) (firstRow, firstStep, steps int) {
	return t.start[i], t.start[i] - i, t.start[i+1] - t.start[i] - 1
}

func readTrajectory(tb testing.TB, name string) *trajectory {
	tb.Helper()
	arrays := readArrays(tb, name)
	t := &trajectory{state: arrays["state.npy"], obs: arrays["obs.npy"], action: arrays["action.npy"]}
	for _, row := range arrays["meta.npy"] {
		t.meta += string(rune(row[0]))
	}
	for _, row := range arrays["start.npy"] {
		t.start = append(t.start, int(row[0]))
	}
	for i, row := range arrays["reward.npy"] {
		t.reward = append(t.reward, row[0])
		t.done = append(t.done, Done(arrays["done.npy"][i][0]))
	}
	if len(t.state) == 0 || len(t.obs) != len(t.state) || len(t.action) != len(t.reward) || len(t.action)+t.episodes() != len(t.state) {
		tb.Fatalf("%s: %d states, %d observations, %d actions, %d rewards, %d episodes do not fit together",
			name, len(t.state), len(t.obs), len(t.action), len(t.reward), t.episodes())
	}
	return t
}

// readArrays reads a file of testdata.
func readArrays(tb testing.TB, name string) map[string][][]float64 {
	tb.Helper()
	archive, err := zip.OpenReader(filepath.Join("testdata", name+".npz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	arrays := map[string][][]float64{}
	for _, file := range archive.File {
		rows, err := readArray(file)
		if err != nil {
			tb.Fatalf("%s: %s: %v", name, file.Name, err)
		}
		arrays[file.Name] = rows
	}
	return arrays
}

var arrayHeader = regexp.MustCompile(`'descr': '[<|]([a-z][0-9])', 'fortran_order': False, 'shape': \(([0-9]+),(?: ([0-9]+))?`)

// readArray reads a one- or two-dimensional array in NumPy's format 1.0,
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
func readArray(file *zip.File) ([][]float64, error) {
	r, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if len(data) < 10 || string(data[:8]) != "\x93NUMPY\x01\x00" {
		return nil, fmt.Errorf("no array of format 1.0")
	}
	body := 10 + int(binary.LittleEndian.Uint16(data[8:]))
	m := arrayHeader.FindStringSubmatch(string(data[10:body]))
	if m == nil {
		return nil, fmt.Errorf("header %q", data[10:body])
	}
	rows, _ := strconv.Atoi(m[2])
	columns := 1
	if m[3] != "" {
		columns, _ = strconv.Atoi(m[3])
	}
	width := int(m[1][1] - '0')
	data = data[body:]
	if len(data) != rows*columns*width {
		return nil, fmt.Errorf("%d bytes for %d × %d × %s", len(data), rows, columns, m[1])
	}
	out := make([][]float64, rows)
	for i := range out {
		out[i] = make([]float64, columns)
		for j := range out[i] {
			at := data[(i*columns+j)*width:]
			switch m[1] {
			case "f8":
				out[i][j] = math.Float64frombits(binary.LittleEndian.Uint64(at))
			case "f4":
				out[i][j] = float64(math.Float32frombits(binary.LittleEndian.Uint32(at)))
			case "i4":
				out[i][j] = float64(int32(binary.LittleEndian.Uint32(at)))
			case "u1":
				out[i][j] = float64(at[0])
			default:
				return nil, fmt.Errorf("numbers of type %s", m[1])
			}
		}
	}
	return out, nil
}
