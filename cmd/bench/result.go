package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/durable"
	"github.com/evorl/evorl/internal/host"
	"github.com/evorl/evorl/internal/regular"
	"github.com/evorl/evorl/vk"
)

// resultSchema names the format of File; it changes if older readers would misread the file.
const resultSchema = "evorl bench 1"

// File is what evorl bench --out writes: the results of all devices that were measured.
type File struct {
	Schema  string    `json:"schema"` // resultSchema
	Results []*Result `json:"results"`
}

// Result is the measurements of a device, with all that a reader needs to judge them.
type Result struct {
	Version     string        `json:"version"` // of evorl
	Date        time.Time     `json:"date"`    // of the beginning
	Device      ResultDevice  `json:"device"`
	Host        Host          `json:"host"`
	Suite       string        `json:"suite"`
	Seconds     float64       `json:"seconds"`     // measuring time per case and repetition
	Repetitions int           `json:"repetitions"` // of the suite
	Others      *float64      `json:"others"`      // fraction of the processors' time used by other programs during the measurement; null: unknown
	Busy        bool          `json:"busy"`        // the machine was busy: the figures are unreliable
	Warnings    []string      `json:"warnings"`
	Cases       []Measurement `json:"cases"`
}

// Host describes the machine with the device.
type Host = host.Host

// ResultDevice is the device of a result.
type ResultDevice struct {
	Name        string `json:"name"`
	Vendor      string `json:"vendor"`
	Type        string `json:"type"` // integrated, discrete, virtual, cpu (a software driver), other
	Driver      string `json:"driver"`
	API         string `json:"api"`     // version of Vulkan
	Binding     string `json:"binding"` // of Go to Vulkan
	MemoryBytes uint64 `json:"memory_bytes"`
	Subgroup    uint32 `json:"subgroup_size"`
}

// Thresholds of a busy machine.
const (
	busyShare   = 0.05 // fraction of processor time used by other programs
	noisySpread = 0.15 // (max - min) / median over the repetitions
)

// Measure is Run that also records the circumstances.
func (s Suite) Measure(ctx context.Context, dev *vk.Device, o Options, report func(Measurement) error) (*Result, error) {
	o = o.withDefaults()
	info := dev.Info()
	r := &Result{
		Version: rundir.Version(), Date: time.Now().UTC().Truncate(time.Second), Host: host.This(), Suite: s.Name,
		Seconds: o.Time.Seconds(), Repetitions: o.Repetitions, Warnings: []string{}, Cases: []Measurement{},
		Device: ResultDevice{
			Name: info.Name, Vendor: info.Vendor, Type: info.Type.String(), Driver: info.Driver, API: info.API.String(), Binding: vk.BindingName,
			MemoryBytes: info.MemoryBytes, Subgroup: info.SubgroupSize,
		},
	}
	begin := readLoad()
	err := s.Run(ctx, dev, o, func(m Measurement) error {
		r.Cases = append(r.Cases, m)
		return report(m)
	})
	r.Others = othersSince(begin, r.Host.Processors)
	r.setWarnings()
	return r, err
}

// setWarnings sets Busy and Warnings.
func (r *Result) setWarnings() {
	if r.Others != nil && *r.Others > busyShare {
		r.Busy = true
		r.Warnings = append(r.Warnings, fmt.Sprintf("other programs took %.0f%% of the processors: measure again on a quiet machine", 100**r.Others))
	}
	for _, c := range r.Cases {
		if c.Spread > noisySpread {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s varied by %.0f%% from one repetition to another", c.Case, 100*c.Spread))
		}
	}
}

// WriteFile writes results to a file, which ReadFile reads.
func WriteFile(path string, results []*Result) error {
	text, err := json.MarshalIndent(File{resultSchema, results}, "", " ")
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return durable.ReplaceFile(path, append(text, '\n'))
}

// maxFile is far above the size of the results of all suites on any number of devices.
const maxFile = 64 << 20

// ReadFile reads a file written by WriteFile.
func ReadFile(path string) ([]*Result, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, &FileError{path, errors.New("it is a folder; want a file of evorl bench --out")}
	}
	text, err := regular.ReadLinked(path, maxFile)
	var large *regular.TooLargeError
	if errors.Is(err, regular.ErrNotRegular) || errors.As(err, &large) {
		return nil, &FileError{path, fmt.Errorf("%w; want a file of evorl bench --out", cmp.Or[error](errors.Unwrap(err), err))}
	}
	if err != nil {
		return nil, err
	}
	var f File
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, &FileError{path, fmt.Errorf("not JSON of evorl bench --out: %w", err)}
	}
	if f.Schema != resultSchema {
		return nil, &FileError{path, fmt.Errorf("its schema is %q; want %q", f.Schema, resultSchema)}
	}
	if len(f.Results) == 0 {
		return nil, &FileError{path, errors.New("it has no results")}
	}
	for i, r := range f.Results {
		if r == nil || r.Device.Name == "" {
			return nil, &FileError{path, fmt.Errorf("result %d has no device", i)}
		}
		for _, c := range r.Cases {
			if !(c.Value >= 0) || c.Case == "" || c.Suite == "" {
				return nil, &FileError{path, fmt.Errorf("result %d: case %q of suite %q has value %g; want names and at least 0", i, c.Case, c.Suite, c.Value)}
			}
		}
	}
	return f.Results, nil
}

// FileError is the error of an unusable file of results.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("%s: %v", filepath.ToSlash(e.Path), e.Err) }
func (e *FileError) Unwrap() error { return e.Err }
