package problem

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine/config"
)

// Source is a function read from a file that also contains its GLSLSpec.
type Source struct {
	Name   string // of the function
	header sourceHeader
	file   string
	text   string
}

// sourceHeader holds the settings of a file's header.
type sourceHeader struct {
	Dimension  int       `min:"1" max:"1000" doc:"Dimensions of a candidate."`
	Objectives int       `min:"1" max:"16" doc:"Objectives, which are maximised."`
	Low        []float32 `doc:"Lower bounds of candidates, one, or one per dimension; default none."`
	High       []float32 `doc:"Upper bounds of candidates."`
	Iterations int       `min:"0" max:"60000" doc:"Most iterations that all loops take for a candidate, except those with [[unroll]]."`
	Start      []float32 `doc:"Start of searches, one number, or one per dimension; default random in the bounds, or 0."`
}

// FromGLSL reads a function from a file's text: its first line is "// problem: NAME", and lines that begin with //!
// are TOML, with these keys:
//
//	//! dimension = 2     # default 10
//	//! objectives = 1
//	//! low = [-5]        # bounds, one for all or one per dimension; default none
//	//! high = [5]
//	//! start = [0]       # default: drawn in the bounds, or 0
//	//! iterations = 100  # of all loops for a candidate; default none
//
// See GLSL for what the text must define. file names the file in errors; errors in the header are *config.Error with
// line and column.
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
	spec, err := s.spec(s.header.Dimension)
	if err == nil {
		_, err = uncompiled(spec, s.text)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Dimension returns the dimension of candidates stated in the header.
func (s *Source) Dimension() int { return s.header.Dimension }

// Function is the function for candidates of the given dimension. It is compiled when a search is made of it, so that the configuration of a
// run can be read without a compiler.
//
// Errors: bounds of another dimension; compiler errors as in GLSL.
func (s *Source) Function(dim int) (*Function, error) {
	spec, err := s.spec(dim)
	if err != nil {
		return nil, err
	}
	return uncompiled(spec, s.text)
}

func (s *Source) spec(dim int) (GLSLSpec, error) {
	spec := GLSLSpec{Name: s.Name, Objectives: s.header.Objectives, Iterations: s.header.Iterations, File: s.file, Space: ec.Space{Dim: dim}}
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
			return spec, fmt.Errorf("%s: %s has %d numbers, and candidates have %d: want one, or one per dimension", s.file, of.key, len(of.values), dim)
		}
	}
	return spec, nil
}
