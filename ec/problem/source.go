package problem

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine/config"
)

// Source is a function in a file that says itself what a GLSLSpec says.
type Source struct {
	Name   string // of the function
	header sourceHeader
	file   string
	text   string
}

// sourceHeader is what the header of a file may set.
type sourceHeader struct {
	Dimension  int       `min:"1" max:"1000" doc:"Numbers a candidate has."`
	Objectives int       `min:"1" max:"16" doc:"Values that are maximised."`
	Low        []float32 `doc:"Lower bounds of candidates, one or one a dimension; default none."`
	High       []float32 `doc:"Upper bounds of candidates."`
	Start      []float32 `doc:"Where searches begin, one number or one a dimension; default anywhere between the bounds, or 0."`
}

// FromGLSL reads a function from a file's text: its first line is "// problem: NAME", and lines that begin with //! are TOML, which may set
//
//	//! dimension = 2     # default 10
//	//! objectives = 1
//	//! low = [-5]        # bounds, one for all or one a dimension; default none
//	//! high = [5]
//	//! start = [0]       # default drawn between the bounds, or 0
//
// What the text defines is told by GLSL. The file's name is for errors, of which those in the header are *config.Error with line and column.
func FromGLSL(file string, text []byte) (*Source, error) {
	first, _, _ := strings.Cut(string(text), "\n")
	name, ok := strings.CutPrefix(strings.TrimRight(first, " \r"), "// problem: ")
	if !ok || name == "" {
		return nil, fmt.Errorf("%s:1: the file begins with %.60q; want // problem: NAME", file, first)
	}
	d, err := config.ParseHeader(file, text, "//!")
	if err != nil {
		return nil, err
	}
	s := &Source{Name: name, header: sourceHeader{Dimension: 10, Objectives: 1}, file: file, text: string(text)}
	if err := d.Decode(config.Sections{{Name: "", Value: &s.header}}); err != nil {
		return nil, err
	}
	if h := s.header; (h.Low == nil) != (h.High == nil) {
		return nil, d.Errorf("low", "low and high belong together: want both or neither")
	}
	if _, err := s.spec(s.header.Dimension); err != nil {
		return nil, err
	}
	return s, nil
}

// Dimension is the number of numbers that a candidate has by the header.
func (s *Source) Dimension() int { return s.header.Dimension }

// Function compiles the function for candidates of so many numbers. Errors are those of GLSL, and one for bounds of another dimension.
func (s *Source) Function(ctx context.Context, dim int) (*Function, error) {
	spec, err := s.spec(dim)
	if err != nil {
		return nil, err
	}
	return GLSL(ctx, spec, s.text)
}

func (s *Source) spec(dim int) (GLSLSpec, error) {
	spec := GLSLSpec{Name: s.Name, Objectives: s.header.Objectives, File: s.file, Space: ec.Space{Dim: dim}}
	for _, of := range []struct {
		key    string
		values []float32
		to     *[]float32
	}{{"low", s.header.Low, &spec.Space.Low}, {"high", s.header.High, &spec.Space.High}, {"start", s.header.Start, &spec.Start}} {
		switch len(of.values) {
		case 0:
		case 1:
			*of.to = slices.Repeat(of.values, dim)
		case dim:
			*of.to = of.values
		default:
			return spec, fmt.Errorf("%s: %s has %d numbers, and candidates have %d: want one, or one a dimension", s.file, of.key, len(of.values), dim)
		}
	}
	return spec, nil
}
