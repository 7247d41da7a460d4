// Package metrics stores the metrics of a run: as lines of JSON for programs and plots, and as TensorBoard events for
// people.
package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Record holds the metrics of one iteration.
//
// On disk it is one flat JSON object per line: the three counters first, then the values sorted by name:
//
//	{"iteration":3,"env_steps":6144,"seconds":0.25,"loss/actor":-0.01,"return/mean":21.5}
//
// JSON cannot represent non-finite numbers. They are written as the strings "NaN", "Infinity" and "-Infinity", which
// Number() of JavaScript and float() of Python convert.
type Record struct {
	Iteration int64   // of the workflow, counted from 1
	EnvSteps  int64   // environment steps so far, summed over members
	Seconds   float64 // wall time so far, including earlier sessions of a resumed run
	Values    map[string]float64
}

const (
	iterationKey = "iteration"
	envStepsKey  = "env_steps"
	secondsKey   = "seconds"
)

// MarshalJSON returns the record's line without its newline.
func (r Record) MarshalJSON() ([]byte, error) {
	b := fmt.Appendf(nil, `{"%s":%d,"%s":%d,"%s":`, iterationKey, r.Iteration, envStepsKey, r.EnvSteps, secondsKey)
	b = appendNumber(b, r.Seconds)
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		switch {
		case name == iterationKey || name == envStepsKey || name == secondsKey:
			return nil, fmt.Errorf("metric %q has the name of one of the record's counters", name)
		case name == "" || !utf8.ValidString(name):
			return nil, fmt.Errorf("metric name %q: want non-empty UTF-8", name)
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, ','), key...), ':')
		b = appendNumber(b, r.Values[name])
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads the output of MarshalJSON. It also accepts null for NaN.
func (r *Record) UnmarshalJSON(text []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	out := Record{Values: make(map[string]float64, len(raw))}
	counters := map[string]*int64{iterationKey: &out.Iteration, envStepsKey: &out.EnvSteps}
	for name, value := range raw {
		if counter := counters[name]; counter != nil {
			if err := json.Unmarshal(value, counter); err != nil {
				return fmt.Errorf("%q: %w", name, err)
			}
			continue
		}
		x, err := parseNumber(value)
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		if name == secondsKey {
			out.Seconds = x
		} else {
			out.Values[name] = x
		}
	}
	for _, name := range []string{iterationKey, envStepsKey, secondsKey} {
		if _, ok := raw[name]; !ok {
			return fmt.Errorf("%q is missing", name)
		}
	}
	*r = out
	return nil
}

func appendNumber(b []byte, x float64) []byte {
	switch {
	case math.IsNaN(x):
		return append(b, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(x, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, x, 'g', -1, 64)
}

func parseNumber(text []byte) (float64, error) {
	switch {
	case bytes.Equal(text, []byte(`"NaN"`)), bytes.Equal(text, []byte("null")):
		return math.NaN(), nil
	case bytes.Equal(text, []byte(`"Infinity"`)):
		return math.Inf(1), nil
	case bytes.Equal(text, []byte(`"-Infinity"`)):
		return math.Inf(-1), nil
	}
	var x float64
	if err := json.Unmarshal(text, &x); err != nil {
		return 0, fmt.Errorf("%s is not a number", text)
	}
	return x, nil
}
