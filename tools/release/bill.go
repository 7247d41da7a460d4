package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"runtime/debug"
)

// bill is a CycloneDX 1.5 bill of materials: the modules that a program was built from, as the program itself says.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl,omitempty"`
}

// billOf is the bill of a program.
func billOf(program []byte, version string) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("the program does not say what it was built from: %w", err)
	}
	b := bill{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{component{Type: "application", Name: "evorl", Version: version}}}
	b.Components = append(b.Components, component{"library", "std", info.GoVersion, "pkg:golang/std@" + info.GoVersion})
	for _, m := range info.Deps {
		b.Components = append(b.Components, of(m))
	}
	return json.MarshalIndent(b, "", " ")
}

func of(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	return component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version}
}
