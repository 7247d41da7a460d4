package bench

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Comparison sets results side by side, relative to one of them.
type Comparison struct {
	Results  []*Result
	Baseline int // its index in the results
	Suites   []ComparedSuite
}

// ComparedSuite holds the cases of a suite that occur in any result.
type ComparedSuite struct {
	Name  string
	Cases []ComparedCase
	// Means are the geometric means of the ratios, over the cases that a result and the baseline both have; 0: no such
	// case.
	Means []float64
}

// ComparedCase is one case in all results.
type ComparedCase struct {
	Case, Unit string
	Values     []float64 // NaN if a result does not have the case
	Spreads    []float64 // half of the range of the repetitions, as a fraction of the value; NaN if there is one repetition
	// Ratios is how many times as fast a result is as the baseline (for memory, how many times smaller); NaN if either
	// lacks the case.
	Ratios []float64
}

// Compare compares results.
//
// Errors: no result, a baseline that is not an index of the results, a case with different units.
func Compare(results []*Result, baseline int) (*Comparison, error) {
	if len(results) == 0 {
		return nil, fmt.Errorf("bench: no results to compare")
	}
	if baseline < 0 || baseline >= len(results) {
		return nil, fmt.Errorf("bench: baseline %d of %d results; want 0 to %d", baseline, len(results), len(results)-1)
	}
	c := &Comparison{Results: results, Baseline: baseline}
	for i, r := range results {
		for _, m := range r.Cases {
			of := c.at(m)
			if of.Unit != m.Unit {
				return nil, fmt.Errorf("bench: %s of %s is in %s, and in %s elsewhere", m.Case, r.Device.Name, m.Unit, of.Unit)
			}
			of.Values[i] = m.Value
			if len(m.Samples) > 1 {
				of.Spreads[i] = m.Spread / 2
			}
		}
	}
	for s := range c.Suites {
		c.Suites[s].relate(len(results), baseline)
	}
	return c, nil
}

// at returns the case of a measurement, which it adds if it is new.
func (c *Comparison) at(m Measurement) *ComparedCase {
	s := slices.IndexFunc(c.Suites, func(s ComparedSuite) bool { return s.Name == m.Suite })
	if s < 0 {
		s = len(c.Suites)
		c.Suites = append(c.Suites, ComparedSuite{Name: m.Suite})
	}
	of := &c.Suites[s]
	i := slices.IndexFunc(of.Cases, func(k ComparedCase) bool { return k.Case == m.Case })
	if i < 0 {
		i = len(of.Cases)
		none := slices.Repeat([]float64{math.NaN()}, len(c.Results))
		of.Cases = append(of.Cases, ComparedCase{Case: m.Case, Unit: m.Unit, Values: none, Spreads: slices.Clone(none)})
	}
	return &of.Cases[i]
}

// relate computes ratios and their means.
func (s *ComparedSuite) relate(results, baseline int) {
	s.Means = make([]float64, results)
	for i := range results {
		logs, n := 0.0, 0
		for k := range s.Cases {
			c := &s.Cases[k]
			ratio := c.Values[i] / c.Values[baseline]
			if lessIsBetter(c.Unit) {
				ratio = 1 / ratio
			}
			if !(ratio > 0) || math.IsInf(ratio, 0) {
				ratio = math.NaN()
			} else {
				logs, n = logs+math.Log(ratio), n+1
			}
			c.Ratios = append(c.Ratios, ratio)
		}
		if n > 0 {
			s.Means[i] = math.Exp(logs / float64(n))
		}
	}
}

// Letter returns the name of a result in tables: A, B, … Z, AA.
func Letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return Letter(i/26-1) + Letter(i%26)
}

// Title returns device and circumstances of the result, in one line.
func (r *Result) Title() string {
	text := fmt.Sprintf("%s; %s; Vulkan %s; %s, %d processors; evorl %s; %s", r.Device.Name, r.Device.Driver, r.Device.API, r.Host.Processor,
		r.Host.Processors, short(r.Version), r.Date.Format("2006-01-02"))
	if r.Busy {
		text += "; " + busyMachine
	}
	return text
}

// busyMachine marks a result that other programs disturbed.
const busyMachine = "busy machine"

// pseudo is a version that Go makes of a revision: v0.0.0-20060102150405-b29661b23c94, with +dirty where files were changed.
var pseudo = regexp.MustCompile(`-(?:0\.)?\d{14}-([0-9a-f]{12})(\+dirty)?$`)

// short shortens a version to its revision.
func short(version string) string {
	if found := pseudo.FindStringSubmatch(version); found != nil {
		return found[1] + found[2]
	}
	if revision, changes, _ := strings.Cut(version, "+"); len(revision) == 40 { // of git
		return strings.TrimSuffix(revision[:12]+"+"+changes, "+")
	}
	return version
}
