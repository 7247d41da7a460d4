package metrics

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// TestWriteParquet compares a file with the one that pyarrow read (tools/reference/parquet_rows.py), and what pyarrow read with the records.
func TestWriteParquet(t *testing.T) {
	var records []Record
	for i := range 19 { // more columns and rows than fit a short list and a byte of levels
		r := Record{Iteration: int64(i + 1), EnvSteps: int64(i) << 40, Seconds: float64(i) / 3, Values: map[string]float64{}}
		for k := range 17 {
			if (i+k)%3 > 0 {
				r.Values[fmt.Sprintf("metric/%d", k)] = math.Sqrt(float64(i)) * math.Pow(-10, float64(k-8))
			}
		}
		records = append(records, r)
	}
	records[3].Values["µ \"odd\""], records[4].Values["µ \"odd\""], records[5].Values["µ \"odd\""] = math.NaN(), math.Inf(1), math.Inf(-1)
	var file bytes.Buffer
	if err := WriteParquet(&file, records); err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("EVORL_PARQUET"); path != "" { // for the script
		if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("testdata/parquet.json")
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		SHA256  string
		Types   []string
		Columns map[string][]any
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(file.Bytes()); hex.EncodeToString(sum[:]) != read.SHA256 {
		t.Errorf("the file has the digest %x; pyarrow read %s", sum, read.SHA256)
	}
	if len(read.Columns) != 3+18 || strings.Join(read.Types[:4], " ") != "int64 int64 double double" {
		t.Errorf("%d columns of types %v", len(read.Columns), read.Types)
	}
	for i, r := range records {
		if got := []any{read.Columns["iteration"][i], read.Columns["env_steps"][i], read.Columns["seconds"][i]}; got[0] != float64(r.Iteration) ||
			got[1] != float64(r.EnvSteps) || got[2] != r.Seconds {
			t.Errorf("row %d: %v; want %v", i, got, r)
		}
		for _, name := range columnNames(records) {
			var want any
			if x, ok := r.Values[name]; ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
				want = strings.TrimPrefix(strings.ToLower(fmt.Sprint(x)), "+")
			} else if ok {
				want = x
			}
			if got := read.Columns[name][i]; got != want {
				t.Errorf("row %d: %s is %v; want %v", i, name, got, want)
			}
		}
	}
}

// A run without records has a file without rows.
func TestWriteEmptyParquet(t *testing.T) {
	var file bytes.Buffer
	if err := WriteParquet(&file, nil); err != nil || !strings.HasPrefix(file.String(), parquetMagic) || !strings.HasSuffix(file.String(), parquetMagic) {
		t.Errorf("%v: %q", err, file.String())
	}
}
