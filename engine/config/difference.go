package config

import (
	"bytes"
	"strings"
)

// Difference is a setting that differs between two configurations.
type Difference struct {
	Key          string // dotted
	Value, Other string // as TOML; "": the configuration has no such key
}

// Differences lists the settings in which sections differ from others, in TOML's order.
func Differences(of, others Sections) []Difference {
	keys, values := Flat(of)
	otherKeys, otherValues := Flat(others)
	var out []Difference
	for _, k := range keys {
		if v, o := values[k], otherValues[k]; v != o {
			out = append(out, Difference{k, v, o})
		}
	}
	for _, k := range otherKeys {
		if _, ok := values[k]; !ok {
			out = append(out, Difference{Key: k, Other: otherValues[k]})
		}
	}
	return out
}

// Flat lists all keys by their dotted names, in TOML's order, with their values as TOML; none of sections that cannot be encoded.
func Flat(of Sections) (keys []string, values map[string]string) {
	var b bytes.Buffer
	if err := Encode(&b, of); err != nil {
		return nil, nil
	}
	values = map[string]string{}
	section := ""
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]") + "."
		} else if key, value, ok := strings.Cut(line, " = "); ok {
			keys = append(keys, section+key)
			values[section+key] = value
		}
	}
	return keys, values
}
