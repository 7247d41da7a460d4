package cmd

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/vk"
)

// inspection is the output of evorl inspect --json.
type inspection struct {
	RunDir      string                    `json:"run_dir"`
	Workflow    string                    `json:"workflow"`
	Env         string                    `json:"env"`
	Seed        uint32                    `json:"seed"`
	Iterations  int                       `json:"iterations"` // of the whole run
	Provenance  rundir.Provenance         `json:"provenance"`
	Checkpoints []savedState              `json:"checkpoints"`     // oldest first
	Best        *evorl.Best               `json:"best"`            // by all evaluations; null: none is stored
	Tensors     []checkpoint.TensorDigest `json:"tensors"`         // of the newest good checkpoint
	Hyper       map[string][]setting      `json:"hyperparameters"` // of each member, in the newest good checkpoint
	Metrics     *metrics.Record           `json:"metrics"`         // the newest; null: none yet
}

// savedState describes a checkpoint.
type savedState struct {
	Iteration int64  `json:"iteration"`
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes,omitempty"`
	Digest    string `json:"digest,omitempty"` // over all tensors
	Valid     bool   `json:"valid"`
	Error     string `json:"error,omitempty"` // why it was refused
}

// setting is a hyperparameter of a member. JSON has the digits of a float32, and null for values that are not finite.
type setting float32

func (s setting) MarshalJSON() ([]byte, error) {
	if x := float64(s); math.IsNaN(x) || math.IsInf(x, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float32(s))
}

func newInspect(known *evorl.Catalog) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect [flags] RUN_DIR",
		Short: "Show where a run came from and what it has saved",
		Long: paragraphs(
			"Show what computed a run, its checkpoints with their digests (every byte is verified), and the hyperparameters of its " +
				"members.",
		),
		Example: "  evorl inspect runs/pbt-CartPole-v1-1",
		Args:    between(1, 1, "want one RUN_DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := inspect(known, args[0], func(err error) { warn(cmd.ErrOrStderr(), "%v", err) })
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(in)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), in.text())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one line of JSON: an object")
	return cmd
}

// inspect reads the saved state of a run. It warns of damaged files that are not checkpoints, and omits them.
func inspect(known *evorl.Catalog, path string, warn func(error)) (*inspection, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	cfg, err := evorl.Stored(path, evorl.Use(known))
	if err != nil {
		return nil, err
	}
	in := &inspection{
		RunDir: path, Workflow: cfg.Run.Workflow, Env: cfg.Run.Env, Seed: cfg.Run.Seed, Iterations: cfg.Run.Iterations,
		Checkpoints: []savedState{}, Hyper: map[string][]setting{},
	}
	if in.Provenance, err = dir.ReadProvenance(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		warn(err)
	}
	if in.Metrics, err = metrics.Last(dir.Metrics()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		warn(err)
	}
	best, refused, err := evorl.FindBest(cfg, path)
	if err != nil {
		return nil, err
	}
	for _, c := range refused {
		warn(c)
	}
	in.Best = best
	return in, in.readCheckpoints(dir.Checkpoints())
}

func (in *inspection) readCheckpoints(dir string) error {
	steps, err := checkpoint.Steps(dir)
	if err != nil {
		return err
	}
	for _, step := range steps {
		path := checkpoint.Path(dir, step)
		state := savedState{Iteration: step, Path: path}
		c, err := checkpoint.Open(path)
		if _, gone := os.Stat(path); gone != nil {
			continue // deleted by the run in the meantime
		}
		if err != nil {
			state.Error = err.Error()
		} else {
			state.Valid, state.Bytes, state.Digest = true, c.Manifest.FileBytes, c.Manifest.Digest
		}
		in.Checkpoints = append(in.Checkpoints, state)
	}
	if _, err := checkpoint.Newest(dir, in.readTensors); !errors.Is(err, checkpoint.ErrNone) {
		return err
	}
	return nil
}

// readTensors lists the tensors of a checkpoint and reads the hyperparameters.
func (in *inspection) readTensors(c *checkpoint.Checkpoint) error {
	in.Tensors = c.Manifest.Tensors
	return c.Load(func(t checkpoint.Tensor) error {
		name, ok := strings.CutPrefix(t.Name, "hyper/")
		if !ok || t.DType != checkpoint.F32 {
			_, err := io.Copy(io.Discard, t.Data)
			return err
		}
		data, err := io.ReadAll(t.Data)
		if err != nil {
			return err
		}
		values := make([]float32, len(data)/4)
		if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, values); err != nil {
			return err
		}
		for _, v := range values {
			in.Hyper[name] = append(in.Hyper[name], setting(v))
		}
		return nil
	})
}

// text formats the inspection for a terminal.
func (in *inspection) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s, seed %d, %s\n%s\n", in.Workflow, in.Env, in.Seed, plural(in.Iterations, "iteration"), filepath.Join(in.RunDir, rundir.ConfigFile))
	if of := in.Provenance.Continues; of != nil {
		fmt.Fprintf(&b, "begun with the state of %s\n", plain(of.String()))
	}
	for i, s := range in.Provenance.Sessions {
		outcome := s.Outcome
		if s.Ended.IsZero() {
			outcome = "runs, or was killed"
		}
		started := s.Started.Local().Format(time.DateTime)
		if s.Started.IsZero() {
			started = "at an unknown time"
		}
		fmt.Fprintf(&b, "\nsession %d, %s: iterations %d to %d, %s\n", i+1, started, s.From, s.To, plain(outcome))
		for _, fact := range [][2]string{
			{"command", strings.Join(s.Command, " ")}, {"device", s.Device}, {"driver", s.Driver + ", Vulkan " + s.API},
			{"program", "evorl " + s.Version + ", " + s.GoVersion + ", " + s.Binding},
		} {
			fmt.Fprintf(&b, "  %-8s %s\n", fact[0], plain(fact[1]))
		}
		if s.Varies != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", "varies", plain(s.Varies))
		}
		for k, w := range s.Workers {
			text := fmt.Sprintf("%d: %s", k, w.Device)
			if w.Name != "" {
				text += " at " + w.Name
			}
			text += ", " + sliceCount(w.Slices, s.Divides)
			if w.Seconds > 0 {
				text += fmt.Sprintf(", %.3g s each lately", w.Seconds)
			}
			if w.Outcome != "" {
				text += ", left the run: " + w.Outcome
			}
			fmt.Fprintf(&b, "  %-8s %s\n", "worker", plain(text))
		}
	}
	b.WriteString("\ncheckpoints\n")
	for _, c := range in.Checkpoints {
		if c.Valid {
			fmt.Fprintf(&b, "  %8d  %9s  %s\n", c.Iteration, vk.ByteSize(uint64(c.Bytes)), c.Digest)
		} else {
			fmt.Fprintf(&b, "  %8d  %s\n", c.Iteration, plain(c.Error))
		}
	}
	if len(in.Checkpoints) == 0 {
		b.WriteString("  none yet\n")
	}
	if best := in.Best; best != nil {
		fmt.Fprintf(&b, "\nbest of the evaluations: %s over %s of member %d\n  %8d  %s\n",
			short(float64(best.Return)), plural(best.Episodes, "episode"), best.Member, best.Iteration, best.Digest)
	}
	if len(in.Hyper) > 0 {
		b.WriteString("\nhyperparameters over the members\n")
		rows := [][]string{{"", "least", "median", "most"}}
		var names []string
		for name := range in.Hyper {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			v := slices.Sorted(slices.Values(in.Hyper[name]))
			rows = append(rows, []string{"  " + plain(name), general(v[0]), general(v[len(v)/2]), general(v[len(v)-1])})
		}
		writeColumns(&b, rows)
	}
	return b.String()
}

func general(x setting) string { return strconv.FormatFloat(float64(x), 'g', 4, 32) }

// sliceCount says how many slices a worker has, of members, or has done, of candidates or of what an older run does not say.
func sliceCount(n int, divides string) string {
	switch divides {
	case rundir.Members:
		return "has " + plural(n, "slice") + " of the members"
	case rundir.Environments:
		return "acts in " + plural(n, "part") + " of the environments"
	case rundir.Gradients:
		return "computes " + plural(n, "part") + " of the gradients"
	case rundir.Candidates:
		return plural(n, "slice") + " of candidates"
	}
	return plural(n, "slice")
}
