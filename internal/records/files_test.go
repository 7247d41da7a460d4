package records

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/evorl/evorl/engine/rundir"
)

// A process that wakes after its folder was replaced does not cut the records of the other run.
func TestRecordsOfAReplacedFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	frozen, err := rundir.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	if err := os.Rename(path, path+"-away"); err != nil {
		t.Fatal(err)
	}
	other, err := rundir.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	const line = `{"iteration":1,"env_steps":2,"seconds":3}` + "\n"
	if err := os.WriteFile(other.Metrics(), []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := OpenFiles(frozen, nil, 0, 0); !errors.Is(err, rundir.ErrGone) {
		t.Errorf("error %v; want ErrGone", err)
	}
	if text, err := os.ReadFile(other.Metrics()); err != nil || string(text) != line {
		t.Errorf("%q, %v; want the other's record", text, err)
	}
}
