package catalog

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/bridge"
	"github.com/evorl/evorl/envs/dmenvrpc"
	"github.com/evorl/evorl/envs/mjcf"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// Names of sections that do not depend on the workflow.
const (
	TaskSection = "task" // of an environment's own options, envs.Spec.Options
	VarySection = "vary"
)

// Setup is what a document selects: a workflow with its settings, and the environment or problem.
type Setup struct {
	Workflow Workflow
	Settings Settings
	Place    string            // env in the run directory: a name, or the kept file's
	Env      *envs.Environment // nil for problems
	Source   *Source           // nil: Place is a name
	Warnings []string          // of what reading found and did not refuse

	named      string        // env in the document
	task       any           // pointer to the environment's options; nil: none
	registered *SourceConfig // of a program's own environment; nil: Env is another one
	robot      *mjcf.Task    // [task] while it is decoded, if env is an MJCF file
	template   struct {      // see Original
		env   string // as it was given
		robot *robot // nil: Env is no model
	}
	within  *Trust                   // see Reader
	outside *outside                 // nil: no server of the bridge's protocol steps the environment
	remote  *remote                  // nil: no server of dm_env_rpc does
	catalog *Catalog                 // where Workflow and Env were looked up
	locate  func(name string) string // the path of a file that a problem or [bridge] names; nil: none does
}

// New returns the setup of a workflow with its defaults, without an environment.
func New(w Workflow) *Setup { return &Setup{Workflow: w, Settings: w.Settings(), catalog: w.catalog} }

// Reader is what it takes to select what a document names.
type Reader struct {
	Context context.Context         // ends what reading starts
	Catalog *Catalog                // where names are looked up
	Folder  string                  // to which the paths of files are relative
	Values  []any                   // of sections, which may select workflows
	Within  *Trust                  // only what the program itself contains may be named, and what is trusted; nil: anything
	Text    []byte                  // the GLSL that env names, which came with the document; empty: it is read from the file
	Program func() (program string) // the program that made the configuration's run, "" if unknown; nil: no run's
	Kept    bool                    // the configuration is what a run keeps, which has all that reading would start a process or ask a server for

	source  *Source  // of the file that env names; nil: it is read from there
	robot   *robot   // the same of a model
	outside *outside // what has told of itself already; nil: nothing
	remote  *remote  // the same of a server of dm_env_rpc
	given   string   // the path by which env named the file of source or robot, before its name alone did
}

// Same makes a reader have the catalog of a setup, and take the file or the model that env names from it, if it is the same, and not read it.
func (r *Reader) Same(s *Setup) {
	r.given, r.Catalog = s.template.env, s.catalog
	if s.Source != nil {
		r.source = &Source{Name: s.Source.Name, Text: s.Source.Text}
	}
	r.robot, r.outside, r.remote = s.template.robot, s.outside, s.remote
}

// Select looks up what a document names.
func (r *Reader) Select(d *config.Document) (*Setup, error) {
	var top struct {
		Workflow string `required:"true" doc:"Name the workflow, for example workflow = \"pbt\"."`
		Env      string `required:"true" doc:"Name the environment, for example env = \"CartPole-v1\", or the problem of a search, for example env = \"bbob\"."`
	}
	d.Rename("problem", "env") // the other name of the key
	if err := d.Peek("", &top); err != nil {
		return nil, err
	}
	w, ok := r.Catalog.Workflow(top.Workflow)
	if !ok {
		return nil, r.unknown(d, "workflow", "workflow", Names(r.Catalog.Workflows()))
	}
	s := New(w)
	s.Place, s.named, s.catalog = top.Env, top.Env, r.Catalog
	if err := s.Settings.choose(d, r.Values); err != nil {
		return nil, err
	}
	var err error
	if s.within = r.Within; s.within != nil { // before anything is read or started
		if err := errors.Join(s.CheckWithin(*s.within), r.checkSent(top.Env)); err != nil {
			return nil, d.Locate(err)
		}
	}
	if isSource(top.Env) || isRobot(top.Env) {
		if err := r.checkKept(top.Env, d); err != nil {
			return nil, err
		}
	}
	switch {
	case isSource(top.Env):
		err = s.placeSource(top.Env, d, r)
	case isRobot(top.Env):
		err = s.placeRobot(top.Env, d, r)
	case bridge.IsName(top.Env):
		err = s.placeOutside(top.Env, d, r)
	case dmenvrpc.IsName(top.Env):
		err = s.placeRemote(top.Env, d, r)
	default:
		err = s.place(top.Env, d, r)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// place looks up the environment or problem.
func (s *Setup) place(name string, d *config.Document, r *Reader) error {
	search, searches := s.search()
	learner, key, _ := s.learner()
	if of, ok := s.catalog.Problem(name); ok {
		if !searches {
			return d.Errorf("env", "%q is a problem, and %s learns in environments: want an environment, or a search such as %s = \"snes\"",
				of.Name, learner, key)
		}
		search.on(of)
		s.locate = r.absolute
		return nil
	}
	var err error
	s.Env, err = s.catalog.Environments().Lookup(name)
	var unknown *envs.UnknownError
	switch {
	case errors.As(err, &unknown) && searches:
		return r.unknown(d, "env", "environment or problem", s.catalog.places())
	case errors.As(err, &unknown):
		return r.unknown(d, "env", "environment", unknown.Known)
	case err != nil:
		return d.Errorf("env", "%v", err)
	}
	if !s.Env.IsBuiltIn() {
		if err := s.register(d); err != nil {
			return err
		}
	}
	if s.Env.Options != nil {
		task := reflect.New(reflect.TypeOf(s.Env.Options))
		task.Elem().Set(reflect.ValueOf(s.Env.Options))
		s.task = task.Interface()
	}
	return nil
}

// Complete sets what depends on the selected workflows, after the sections' values and before they are decoded.
func (s *Setup) Complete() { s.Settings.complete() }

// Finish completes a setup whose sections are decoded.
func (s *Setup) Finish(d *config.Document) (err error) {
	if s.Source != nil { // as the run directory has it
		s.Place, s.Source.settings = s.Source.Name, SourceConfig{s.Source.digest}
		s.template.env, s.robot = s.named, nil // the source contains the robot's task
	}
	if s.registered != nil {
		*s.registered = SourceConfig{digestOf([]byte(s.Env.GLSL()))} // also where the document has it empty
	}
	if s.outside != nil {
		s.outside.finish(s.locate)
	}
	if s.remote != nil {
		s.remote.finish()
	}
	if search, ok := s.search(); ok && s.locate != nil {
		if of, ok := search.settings.(located); ok {
			of.locate(s.locate)
		}
	}
	if s.within != nil {
		if err := s.CheckWithin(*s.within); err != nil {
			return d.Locate(err)
		}
	}
	if s.task != nil {
		if s.Env, err = s.Env.With(reflect.ValueOf(s.task).Elem().Interface()); err != nil {
			return d.Errorf(TaskSection, "%v", err)
		}
	}
	return nil
}

// Widen sets the precision of networks to float32 where a device does not have it; the returned function sets it back.
func (s *Setup) Widen(info vk.Info) (back func()) {
	back = func() {}
	for _, section := range s.Settings.Sections() {
		if network, ok := section.Value.(*rl.NetworkConfig); ok && network.Precision.Check(info) != nil {
			was, before := network.Precision, back
			network.Precision, back = nn.Float32, func() { before(); network.Precision = was }
		}
	}
	return back
}

// sections returns pointers to the settings of the setup, the environment's among them.
func (s *Setup) sections(environment *envs.Options) config.Sections {
	var out config.Sections
	if s.Source != nil {
		out = append(out, config.Section{Name: sourceSection, Value: &s.Source.settings})
	}
	if s.registered != nil {
		out = append(out, config.Section{Name: sourceSection, Value: s.registered})
	}
	if search, ok := s.search(); !ok || !search.solves() {
		out = append(out, config.Section{Name: "environment", Value: environment})
		if s.robot != nil {
			out = append(out, config.Section{Name: TaskSection, Value: s.robot})
		}
		if s.task != nil {
			out = append(out, config.Section{Name: TaskSection, Value: s.task})
		}
		if s.outside != nil {
			out = append(out, config.Section{Name: BridgeSection, Value: s.outside.config})
		}
		if s.remote != nil {
			out = append(out, config.Section{Name: RemoteSection, Value: s.remote.config})
		}
	}
	return append(out, s.Settings.Sections()...)
}

// Check checks the settings with the environment's.
func (s *Setup) Check(environment envs.Options) error {
	switch {
	case s.Env == nil:
	case environment.TimeLimit == envs.NoTimeLimit || environment.TimeLimit == 0 && s.Env.MaxSteps == 0:
		return config.Invalid("environment.time_limit", "without a time limit an evaluation episode might never end: want at least 1")
	case environment.ActionRepeat > s.Env.MostActionRepeat():
		return config.Invalid("environment.action_repeat", "%d steps of %q are too much work for one dispatch; want at most %d", environment.ActionRepeat, s.Env.Name,
			s.Env.MostActionRepeat())
	case environment.Mapping == envs.Cooperative && !s.Env.HasCooperative():
		return config.Invalid("environment.mapping", "%q has no form whose lanes compute it together; want \"by-device\" or \"lane\"", s.Env.Name)
	case environment.AutoReset == envs.Disabled:
		return config.Invalid("environment.auto_reset", "%q loses transitions that learning needs: want \"normal\" or \"fast\"", environment.AutoReset)
	case environment.AutoReset == envs.Fast && len(s.Env.Sets) > 0:
		return config.Invalid("environment.auto_reset", "%q records what is met in all episodes, and each would begin without: want \"normal\"", s.Env.Name)
	case s.Env.SteppedByHost() && environment.ActionRepeat > 1:
		return config.Invalid("environment.action_repeat", "%s is stepped by another program, which may repeat actions itself: want 1", s.Place)
	case s.Env.SteppedByHost() && environment.SparseReward:
		return config.Invalid("environment.sparse_reward", "%s is stepped by another program, which may hold rewards back itself: want false", s.Place)
	case s.Env.SteppedByHost() && environment.AutoReset != envs.Normal:
		return config.Invalid("environment.auto_reset", "%s is stepped by another program: want \"normal\"", s.Place)
	case s.remote != nil && s.remote.config.World != "" && s.Acts():
		return config.Invalid(RemoteSection+".world", "all environments join the world %q, whose steps may wait for all of them, and actors take theirs at "+
			"different times: want \"\", which creates worlds, or one actor without a lag", s.remote.config.World)
	case s.outside != nil && s.Slices() != nil && s.Slices().Slice > 0:
		return config.Invalid(SliceKey, "%s is stepped by other processes, for all members at once: want 0", s.Place)
	}
	if environment.DrawEvaluations && !s.Settings.draws() {
		return config.Invalid("evaluation.draw", "not all policies of %s draw actions from a distribution when they learn: want false, or of searches "+
			"policy.sample = true", s.Workflow.Name)
	}
	return s.Settings.Check(s.Env, environment)
}

// IsTask reports whether a section belongs to the task, which is the environment or the problem, not to the method.
func (s *Setup) IsTask(section string) bool {
	switch section {
	case TaskSection, "environment", BridgeSection, RemoteSection, sourceSection, functionSection, s.Place:
		return true
	}
	return false
}

// Independent reports whether members are repetitions of one experiment: not those that compete or cooperate, nor agents that share a replay.
func (s *Setup) Independent() bool {
	for _, of := range s.Settings.Sections() {
		if replay, ok := of.Value.(*rl.ReplayConfig); ok && replay.Shared {
			return false
		}
	}
	return s.Settings.Independent()
}

// Selects reports whether members are a population under selection (PBT).
func (s *Setup) Selects() bool {
	_, ok := s.Settings.(*pbt)
	return ok
}

// search returns the innermost workflow if it is a search.
func (s *Setup) search() (*search, bool) {
	of, ok := innermost(s.Settings).(*search)
	return of, ok
}

// Measure returns the name of what a problem's evaluations measure; "": its fitness.
func (s *Setup) Measure() string {
	if of, ok := s.search(); ok {
		return of.measure()
	}
	return ""
}

// Solves reports whether a search solves a problem, and whether it has several objectives.
func (s *Setup) Solves() (solves, several bool) {
	of, ok := s.search()
	return ok && of.solves(), ok && of.several()
}

// Front returns points of the problem's true front; nil if unknown.
func (s *Setup) Front(points int) [][]float64 {
	if of, ok := s.search(); ok {
		return of.front(points)
	}
	return nil
}

// Archive returns what bounds the descriptors of elites, and the cells of their grid.
func (s *Setup) Archive(environment envs.Options) (low, high []float64, cells []int) {
	if of, ok := s.search(); ok {
		return of.archive(s.Env, environment)
	}
	return nil, nil, nil
}

// learner returns the name of the innermost workflow, the key that selects it, and the choices.
func (s *Setup) learner() (name, key string, choices []Workflow) {
	if p, ok := s.Settings.(*pbt); ok {
		return p.over, "[pbt] over", s.catalog.trainables()
	}
	return s.Workflow.Name, "workflow", s.catalog.Workflows()
}

// unknown returns the error of a name that the catalog does not have, or says what evorl does not do, if it is
// known for that. In the configuration of a run it tells what program has it.
func (r *Reader) unknown(d *config.Document, key, what string, valid []string) error {
	err := d.UnknownValue(key, what, valid)
	var of *config.Error
	if !errors.As(err, &of) {
		return err
	}
	if r.Program == nil {
		if text, ok := d.Text(key); ok && Lacks(text) != "" {
			of.Hint = Lacks(text)
		}
		return err
	}
	by := "the program that began it"
	if program := r.Program(); program != "" {
		by = fmt.Sprintf("the program that began it, %s,", program)
	}
	of.Message = strings.Replace(of.Message, "unknown ", "this program does not know ", 1)
	of.Hint = fmt.Sprintf("the run has parts of a program's own: want %s or another one with the same parts; see docs/own.md", by)
	return err
}

// Catalog returns the catalog in which the setup was looked up.
func (s *Setup) Catalog() *Catalog { return s.catalog }
