package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Member is the content of the tag member. It marks a field with one value per member, which PBT may search.
type Member struct {
	Prior string  `json:"prior,omitempty"` // name of the default prior; "": none, and the field is searched only on request
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
}

// parseMember reads a tag: a prior and its range separated by spaces, or nothing.
func parseMember(tag string) (*Member, error) {
	parts := strings.Fields(tag)
	if len(parts) == 0 {
		return &Member{}, nil
	}
	if len(parts) != 3 {
		return nil, fmt.Errorf("the tag member is %q: want a prior, a low and a high, such as log_uniform 3e-5 3e-3", tag)
	}
	low, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return nil, fmt.Errorf("the tag member: %w", err)
	}
	high, err := strconv.ParseFloat(parts[2], 64)
	if err != nil {
		return nil, fmt.Errorf("the tag member: %w", err)
	}
	if !(low <= high) {
		return nil, fmt.Errorf("the tag member is %q: want low at most high", tag)
	}
	return &Member{Prior: parts[0], Low: low, High: high}, nil
}

// MemberFields lists the keys with the tag member in a section's struct, in declaration order. v is the struct with the
// defaults, or a pointer to it.
func MemberFields(v any) ([]Key, error) {
	all, err := Schema(v)
	if err != nil {
		return nil, err
	}
	var keys []Key
	for _, k := range all {
		if k.Member != nil {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// Want returns the range of a key in words if x is outside it, and "" otherwise.
func (k Key) Want(x float64) string { return k.field.check(reflect.ValueOf(x)) }
