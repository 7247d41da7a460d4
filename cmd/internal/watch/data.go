package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/rundir"
)

// runData is /run.json.
type runData struct {
	Title      string `json:"title"`
	Path       string `json:"run_dir"`
	Iterations int    `json:"iterations"`
	Priority   string `json:"metric"`
	Lineage    bool   `json:"lineage"`
	Episodes   bool   `json:"episodes"`
	Checkpoint int64  `json:"checkpoint"` // the newest; 0: none yet
	Exchanges  int64  `json:"exchanges"`  // bytes of the lineage, which grows with it; 0: none yet

	Workers []rundir.Worker `json:"workers,omitempty"` // of a shared run, in its newest session
	Divides string          `json:"divides,omitempty"` // what they share, as rundir.Session
}

func (s Source) serveRun(w http.ResponseWriter, _ *http.Request) {
	newest, err := newestCheckpoint(s.Path)
	if err != nil {
		writeText(w, nil, err)
		return
	}
	exchanges, err := lineageSize(s.Path)
	if err != nil {
		writeText(w, nil, err)
		return
	}
	workers, divides, err := workersOf(s.Path)
	if err != nil {
		writeText(w, nil, err)
		return
	}
	text, err := json.Marshal(runData{s.Title, s.Path, s.Total, s.Priority, s.Lineage != nil, s.Episode != nil, newest, exchanges, workers, divides})
	writeText(w, text, err)
}

// workersOf returns the workers of the newest session of a run, and what they share; none: it is not shared, or has not begun.
func workersOf(path string) (all []rundir.Worker, divides string, err error) {
	text, err := os.ReadFile(filepath.Join(path, rundir.ProvenanceFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	var p rundir.Provenance
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || len(p.Sessions) == 0 {
		return nil, "", err
	}
	newest := p.Sessions[len(p.Sessions)-1]
	return newest.Workers, newest.Divides, nil
}

// newestCheckpoint is the iteration of the newest checkpoint; 0: there is none yet.
func newestCheckpoint(path string) (int64, error) {
	steps, err := checkpoint.Steps(filepath.Join(path, rundir.CheckpointsDir))
	if err != nil || len(steps) == 0 {
		return 0, err
	}
	return slices.Max(steps), nil
}

// lineageSize is the size of the lineage's file; 0: there is none yet.
func lineageSize(path string) (int64, error) {
	info, err := os.Stat(filepath.Join(path, rundir.LineageFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// maxLineage is the size of the largest lineage that is drawn, in bytes: some 25,000 members of generations. Drawing takes about
// twenty times as much.
const maxLineage = 4 << 20

// picture is the lineage, drawn once for all readers after each exchange.
type picture struct {
	draw func(w io.Writer) error
	path string
	mu   sync.Mutex
	of   int64 // size of the lineage's file
	text []byte
}

func (p *picture) serve(w http.ResponseWriter, r *http.Request) {
	if p.draw == nil {
		http.NotFound(w, r)
		return
	}
	text, err := p.newest()
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = w.Write(text) // the browser is gone
}

func (p *picture) newest() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size, err := lineageSize(p.path)
	switch {
	case err != nil:
		return nil, err
	case size == 0:
		return nil, fmt.Errorf("%w: the run has no lineage", errNothingYet)
	case size > maxLineage:
		return nil, fmt.Errorf("the lineage is too long to be drawn beside the run: evorl plot --lineage %s", p.path)
	case size == p.of:
		return p.text, nil
	}
	var b bytes.Buffer
	if err := p.draw(&b); err != nil {
		return nil, err
	}
	p.of, p.text = size, b.Bytes()
	return p.text, nil
}
