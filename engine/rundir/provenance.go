package rundir

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/evorl/evorl/internal/regular"
)

// Provenance identifies what computed a run. The same binary, device, driver and seed give the same bits.
type Provenance struct {
	Workflow    string     `json:"workflow"`
	Environment string     `json:"env"`
	Seed        uint64     `json:"seed"`
	Continues   *Continued `json:"continues,omitempty"`
	Sessions    []Session  `json:"sessions"` // the first start, then every resume
}

// Continued is what a run began with: the states of members of another run.
type Continued struct {
	Run     string `json:"run"`               // its folder: a path or, in a sweep, the name of one beside the run's own
	Members []int  `json:"members,omitempty"` // nil: all
}

// Equal reports whether two runs continue the same members. Nil: a run that began anew.
func (c *Continued) Equal(other *Continued) bool {
	if c == nil || other == nil {
		return c == other
	}
	return c.Run == other.Run && slices.Equal(c.Members, other.Members)
}

func (c *Continued) String() string {
	if c == nil {
		return "no other run"
	}
	if c.Members == nil {
		return c.Run
	}
	return fmt.Sprintf("members %v of %s", c.Members, c.Run)
}

// Session is one process that worked on a run.
type Session struct {
	Version   string              `json:"version"`    // of the program
	GoVersion string              `json:"go_version"` // of the compiler
	Binding   string              `json:"binding"`    // the Vulkan binding
	Device    string              `json:"device"`
	Driver    string              `json:"driver"`
	API       string              `json:"api"`               // Vulkan version of the device
	Kernels   map[string][]string `json:"kernels,omitempty"` // kernels that ran, each with its variants; see vk.Device.Variants
	Workers   []Worker            `json:"workers,omitempty"` // devices that shared the session, Device first; none: Device alone
	Divides   string              `json:"divides,omitempty"` // what Workers share: Candidates, Members, Environments or Gradients
	Varies    string              `json:"varies,omitempty"`  // why another run would end with other bits; "": it would not
	Command   []string            `json:"command,omitempty"` // program name and arguments
	Started   time.Time           `json:"started"`
	Ended     time.Time           `json:"ended,omitzero"`    // zero: still running, or killed
	From      int64               `json:"from"`              // last iteration before the session
	To        int64               `json:"to,omitempty"`      // last iteration completed
	Outcome   string              `json:"outcome,omitempty"` // "finished", "interrupted", or an error
}

// Worker is a device that takes part in a session with others.
type Worker struct {
	Name    string  `json:"name,omitempty"` // of one in another process; "": it is in the run's own
	Device  string  `json:"device"`
	Driver  string  `json:"driver"`
	Slices  int     `json:"slices"`                  // of candidates, that it has evaluated; of members, environments and gradients, that it has
	Seconds float64 `json:"slice_seconds,omitempty"` // of one of them, lately; 0: unknown
	Outcome string  `json:"outcome,omitempty"`       // the error with which it left; "": it did not
}

// What the devices of a session can divide among them: the candidates of a search, the members of agents, the environments in which these act, or the
// gradients by which they learn; and the runs of a sweep.
const (
	Candidates   = "candidates"
	Members      = "members"
	Environments = "environments"
	Gradients    = "gradients"
	Runs         = "runs"
)

// NewSession returns a session that starts now, with the facts known to the process. The program's path is reduced to its name.
func NewSession() Session {
	command := append([]string{}, os.Args...)
	if len(command) > 0 {
		command[0] = filepath.Base(command[0])
	}
	return Session{Version: Version(), GoVersion: runtime.Version(), Command: command, Started: time.Now().UTC().Truncate(time.Millisecond)}
}

// release is the version of a program that tools/release built, which the linker sets.
var release string

// Version returns the version of the program: of its release, or of its module if it was installed by version, else the revision it was built
// from if known, else "devel".
func Version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	version := "devel"
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			version = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			version += "+changes"
		}
	}
	return version
}

// WriteProvenance replaces the provenance.
func (d *Dir) WriteProvenance(p Provenance) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("provenance: %w", err)
	}
	return d.write(ProvenanceFile, append(text, '\n'))
}

// maxProvenance is above the size of ten thousand sessions.
const maxProvenance = 64 << 20

// DamagedError is the error of a file in a run directory with content that no run wrote.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string { return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err) }
func (e *DamagedError) Unwrap() error { return e.Err }

// ReadProvenance reads the provenance. A truncated one is a *DamagedError.
func (d *Dir) ReadProvenance() (Provenance, error) {
	path := filepath.Join(d.path, ProvenanceFile)
	text, err := regular.ReadFile(path, maxProvenance)
	if err != nil {
		return Provenance{}, fmt.Errorf("provenance: %w", err)
	}
	var p Provenance
	if err := json.Unmarshal(text, &p); err != nil {
		return Provenance{}, &DamagedError{path, err}
	}
	return p, nil
}
