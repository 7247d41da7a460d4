package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Member is what the tag member says of a field that each member has a value of its own for, so that PBT may search it.
type Member struct {
	Prior string  `json:"prior,omitempty"` // name of the default prior; "": there is none, and it is searched only when asked for
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
}

// parseMember reads a tag: a prior and its range with blanks between them, or nothing.
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

// MemberFields lists the keys of a section's struct that have the tag member, in the order of its fields. v is the struct, or a pointer to
// it, with the defaults.
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

// Want is the range of a key in words if a number is outside it, and "" if not.
func (k Key) Want(x float64) string { return k.field.check(reflect.ValueOf(x)) }
