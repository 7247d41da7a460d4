package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Search is what the tag search says of a field that each member has for itself: a method that varies hyperparameters may vary it.
type Search struct {
	Prior string  `json:"prior,omitempty"` // name of the default prior; "": there is none, and it is searched only when asked for
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
}

// parseSearch reads a tag: a prior and its range with commas between them, or nothing.
func parseSearch(tag string) (*Search, error) {
	if tag == "" {
		return &Search{}, nil
	}
	parts := strings.Split(tag, ",")
	if len(parts) != 3 || parts[0] == "" {
		return nil, fmt.Errorf("the tag search is %q: want a prior, a low and a high, such as log_uniform,3e-5,3e-3", tag)
	}
	low, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return nil, fmt.Errorf("the tag search: %w", err)
	}
	high, err := strconv.ParseFloat(parts[2], 64)
	if err != nil {
		return nil, fmt.Errorf("the tag search: %w", err)
	}
	if !(low <= high) {
		return nil, fmt.Errorf("the tag search is %q: want low at most high", tag)
	}
	return &Search{Prior: parts[0], Low: low, High: high}, nil
}

// Searched lists the keys of a section's struct that have the tag search, in the order of its fields. v is the struct, or a pointer to
// it, with the defaults.
func Searched(v any) ([]Key, error) {
	all, err := Schema(v)
	if err != nil {
		return nil, err
	}
	var keys []Key
	for _, k := range all {
		if k.Search != nil {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// Want is the range of a key in words if a number is outside it, and "" if not.
func (k Key) Want(x float64) string { return k.field.check(reflect.ValueOf(x)) }
