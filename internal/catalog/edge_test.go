package catalog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// made is a problem whose fitness the test provides; candidates can be read after each generation.
type made struct {
	space      ec.Space
	objectives int

	scores, behaviour, descriptors, formed *engine.Tensor
}

func (p *made) Name() string { return "made-up" }

func (p *made) Objectives() int { return p.objectives }

func (p *made) Space(members int) ec.Space {
	s := p.space
	s.Members = members
	return s
}

func (p *made) Start(_, _ uint32, members int) []float32 {
	out := make([]float32, members*p.space.Dim)
	for i := range out {
		out[i] = float32(i%5) / 4
	}
	return out
}

// New implements ec.Problem. A problem is used only once here.
func (p *made) New(_ context.Context, s *engine.State, _ engine.Clock, members, population int) (ec.Evaluation, error) {
	m, candidates := engine.Members(members), engine.Axis("candidate", population)
	p.scores = s.Scratch("told", engine.Float32, m, candidates, engine.Axis("objective", p.objectives))
	p.behaviour = s.Scratch("behaviour", engine.Float32, m, candidates, engine.Axis("descriptor", len(p.space.DescriptorLow)))
	p.formed = s.Scratch("formed", engine.Float32, engine.Members(members*population), engine.Axis("parameter", p.Space(members).Row()))
	return &evaluated{p, population}, nil
}

type evaluated struct {
	*made
	population int
}

func (e *evaluated) Describe(descriptors *engine.Tensor)                { e.descriptors = descriptors }
func (e *evaluated) Window() int                                        { return e.population }
func (e *evaluated) Steps() (candidate, clock int)                      { return 0, 0 }
func (e *evaluated) Init(context.Context) error                         { return nil }
func (e *evaluated) Finish(*engine.Recorder)                            {}
func (e *evaluated) Prepare(context.Context, *engine.Tensor, int) error { return nil }
func (e *evaluated) Rows(*engine.Metrics) func(*engine.Recorder)        { return func(*engine.Recorder) {} }
func (e *evaluated) Close()                                             {}
func (e *evaluated) Evaluate(context.Context, *engine.Tensor, int) (engine.Evaluation, error) {
	return engine.Evaluation{}, nil
}

func (e *evaluated) Fitness(context.Context, *engine.State, *engine.Tensor, int) (engine.Fitness, error) {
	return func(*engine.Recorder, *engine.Tensor) {}, nil
}

func (e *evaluated) Record(r *engine.Recorder, candidates *engine.Tensor, _ int, fitness *engine.Tensor) {
	r.Copy(e.formed, candidates)
	r.Copy(fitness, e.scores)
	r.Copy(e.descriptors, e.behaviour)
}

// space has five dimensions and two descriptors.
func space(bounded bool) ec.Space {
	s := ec.Space{Dim: 5, DescriptorLow: []float32{0, 0}, DescriptorHigh: []float32{1, 1}}
	if bounded {
		s.Low, s.High = []float32{-1, 0, -3, 0.25, -1}, []float32{1, 2, -1, 0.5, 3}
	}
	return s
}

// algorithm reads an algorithm's configuration with the given population and compatible settings; nil: the workflow
// is not one of ec's.
func algorithm(w Workflow, population int, more ...string) (ec.Algorithm, needs, error) {
	of, ok := w.Settings().(*search)
	if !ok {
		return nil, 0, nil
	}
	overrides := []config.Override{config.Set(fmt.Sprintf("%s.population=%d", w.Name, population))}
	for _, set := range more {
		overrides = append(overrides, config.Set(w.Name+"."+set))
	}
	env := "arm"
	if of.needs == objectives {
		env = "zdt"
		overrides = append(overrides, config.Set("zdt.function=1"))
	}
	d, err := config.Parse("x.toml", []byte("workflow = \""+w.Name+"\"\nenv = \""+env+"\"\n"), overrides...)
	if err != nil {
		return nil, 0, err
	}
	s, err := (&Reader{Context: context.Background()}).Select(d)
	if err != nil {
		return nil, 0, err
	}
	run, environment, evaluation, checkpoint := DefaultRun(), DefaultEnvironment(), DefaultEvaluation(), DefaultCheckpoint()
	if err := d.Decode(s.Sections(Config{Run: &run, Environment: &environment, Evaluation: &evaluation, Checkpoint: &checkpoint})); err != nil {
		return nil, 0, err
	}
	of, _ = s.search()
	return of.algorithm(), of.needs, d.Locate(s.Check(environment))
}

// suited returns settings whose defaults are too large for a small population, or that a small problem needs.
func suited(name string, population int) []string {
	elites := fmt.Sprintf("elites=%d", max(1, population/2))
	switch name {
	case "openes":
		return []string{fmt.Sprintf("mirrored=%t", population%2 == 0)}
	case "vanilla-es", "cem":
		return []string{elites}
	case "cvt-map-elites":
		return []string{"centroids=30", "samples=300"}
	case "ars":
		return []string{fmt.Sprintf("elites=%d", max(1, population/4))}
	}
	return nil
}

// makeSearch makes a search of two members on a made problem with one objective or, for multi-objective algorithms,
// two.
func makeSearch(t *testing.T, eng *engine.Engine, algo ec.Algorithm, needs needs, in ec.Space) (*ec.Search, *made, error) {
	t.Helper()
	p := &made{space: in, objectives: 1}
	if needs == objectives {
		p.objectives = 2
	}
	s, err := ec.NewSearch(t.Context(), eng, algo, p, 2)
	return s, p, err
}

// TestOddFitness: every algorithm, with populations of one, of an odd number and, if it cannot have those, of two,
// with and without bounds, gets fitness that is constant, not finite, or as large or small as float32 allows. Its
// candidates and solutions stay finite and in the bounds, and its best candidate is the best. An impossible
// population gives an error that says so.
func TestOddFitness(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	kinds := []struct {
		name string
		of   func(generation, i int) float32
	}{
		{"constant", func(_, _ int) float32 { return -7 }},
		{"NaN", func(_, _ int) float32 { return nan }},
		{"negative NaN", func(_, _ int) float32 { return math.Float32frombits(0xFFC00001) }},
		{"infinite", func(g, i int) float32 { return []float32{inf, -inf}[(g+i)%2] }},
		{"some not finite", func(g, i int) float32 { return []float32{nan, float32(i), -inf, inf, -float32(g)}[(i+g)%5] }},
		{"finite at last", func(g, i int) float32 { return []float32{nan, float32(-g - i)}[g/4] }},
		{"huge", func(g, i int) float32 { return 3.4e38 * float32(math.Sin(float64(i*i+g))) }},
		{"tiny", func(g, i int) float32 { return 1e-44 * float32((i+g)%3) }},
	}
	algorithms, tried := 0, map[string]int{}
	for _, w := range (*Catalog)(nil).Workflows() {
		for k, population := range []int{1, 7, 2} {
			if tried[w.Name] == 2 {
				break
			}
			t.Run(fmt.Sprintf("%s/%d", w.Name, population), func(t *testing.T) {
				algo, needs, err := algorithm(w, population, suited(w.Name, population)...)
				var wrong *config.Error
				switch {
				case algo == nil && err == nil:
					return
				case errors.As(err, &wrong) && strings.Contains(err.Error(), "population") && strings.Contains(err.Error(), "want"):
					return
				case err != nil:
					t.Fatalf("error %v; want none, or one that says what the population may be", err)
				}
				algorithms++
				tried[w.Name]++
				bounded := (algorithms+k)%2 == 0
				in := space(bounded)
				s, p, err := makeSearch(t, engine.New(dev, engine.Seed(uint32(k))), algo, needs, in)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				inside := func(what string, row int, values []float32) {
					t.Helper()
					for i, v := range values {
						at := i % row
						if at < in.Dim && (!(math.Abs(float64(v)) < 1e4) || bounded && (v < in.Low[at] || v > in.High[at])) {
							t.Fatalf("%s: number %d of row %d is %g", what, at, i/row, v)
						}
					}
				}
				for _, kind := range kinds {
					if err := s.Init(t.Context()); err != nil {
						t.Fatal(err)
					}
					best := make([]float32, 2) // of each member
					best[0], best[1] = nan, nan
					for g := range 8 {
						values := make([]float32, p.scores.Len())
						for i := range values {
							values[i] = kind.of(g, i)
							if m := i / (len(values) / 2); math.Abs(float64(values[i])) <= math.MaxFloat32 && !(best[m] >= values[i]) {
								best[m] = values[i]
							}
						}
						behaviour := make([]float32, p.behaviour.Len())
						for i := range behaviour {
							behaviour[i] = float32((i*i+g)%7) / 6
						}
						if err := errors.Join(p.scores.WriteFloat32(t.Context(), values), p.behaviour.WriteFloat32(t.Context(), behaviour)); err != nil {
							t.Fatal(err)
						}
						ticket, err := s.Step(t.Context(), g)
						if err == nil {
							err = ticket.Wait(t.Context())
						}
						if err != nil {
							t.Fatal(err)
						}
						formed, err := p.formed.ReadFloat32(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						inside(fmt.Sprintf("%s, generation %d: candidates", kind.name, g), p.Space(2).Row(), formed)
					}
					solutions, err := s.ReadSolution(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, rows := range solutions {
						inside(kind.name+": solutions", in.Dim, slices.Concat(rows...))
					}
					got, fittest, err := s.ReadBest(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if got == nil {
						_, objectives := s.Generation().Front()
						values, err := objectives.ReadFloat32(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						for i, v := range values {
							if !(math.Abs(float64(v)) <= math.MaxFloat32) {
								t.Fatalf("%s: objective %d of the front is %g", kind.name, i, v)
							}
						}
						continue
					}
					inside(kind.name+": the fittest", in.Dim, slices.Concat(fittest...))
					for m := range got {
						if got[m] != best[m] && !(got[m] != got[m] && best[m] != best[m]) &&
							!(kind.name == "tiny" && math.Abs(float64(got[m])) < 1e-40) { // a device may flush it to 0
							t.Errorf("%s, member %d: the best fitness is %g; want %g", kind.name, m, got[m], best[m])
						}
					}
				}
			})
		}
	}
	if algorithms < 28 {
		t.Errorf("only %d pairs of an algorithm and a population were tried", algorithms)
	}
}

// TestReversedBounds: no algorithm accepts a space whose bounds are reversed, equal or missing.
func TestReversedBounds(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	for _, w := range (*Catalog)(nil).Workflows() {
		algo, needs, err := algorithm(w, 12, suited(w.Name, 12)...)
		if err != nil {
			t.Errorf("%s: a population of 12: %v", w.Name, err)
		}
		if algo == nil {
			continue
		}
		for what, change := range map[string]func(s *ec.Space){
			"reversed": func(s *ec.Space) { s.Low, s.High = s.High, s.Low },
			"equal":    func(s *ec.Space) { s.Low[3] = s.High[3] },
			"NaN":      func(s *ec.Space) { s.High[2] = float32(math.NaN()) },
			"infinite": func(s *ec.Space) { s.Low[0] = float32(math.Inf(-1)) },
			"too few":  func(s *ec.Space) { s.Low = s.Low[1:] },
		} {
			in := space(true)
			change(&in)
			s, _, err := makeSearch(t, engine.New(dev), algo, needs, in)
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "bound") || !strings.Contains(err.Error(), "want") {
				t.Errorf("%s, bounds that are %s: error %v", w.Name, what, err)
			}
		}
	}
}
