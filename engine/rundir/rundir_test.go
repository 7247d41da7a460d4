package rundir

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCreateResumeOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs", "first")
	for _, open := range []func(string) (*Dir, error){Resume, Open} {
		if _, err := open(path); !errors.Is(err, ErrNoRun) || !strings.Contains(err.Error(), path) {
			t.Fatalf("error %v; want ErrNoRun", err)
		}
	}
	d, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("process %d since", os.Getpid())) {
		t.Fatalf("error %v; want ErrInUse", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// A run that failed before it began leaves an empty folder, in which another can begin.
	if d, err = Create(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(path); !errors.Is(err, ErrNoRun) {
		t.Fatalf("error %v; want ErrNoRun", err)
	}
	if err := d.WriteConfig([]byte("seed = 1\n")); err != nil {
		t.Fatal(err)
	}
	if r, err := Open(path); err != nil || r.Close() != nil {
		t.Fatalf("cannot read while it runs: %v", err)
	}
	if _, err := Resume(path); !errors.Is(err, ErrInUse) {
		t.Fatalf("error %v; want ErrInUse", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path); !errors.Is(err, ErrNotEmpty) {
		t.Fatalf("error %v; want ErrNotEmpty", err)
	}
	if d, err = Resume(path); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if text, err := os.ReadFile(d.Config()); err != nil || string(text) != "seed = 1\n" {
		t.Fatalf("config %q, %v", text, err)
	}
}

const holderDir = "EVORL_TEST_LOCK_DIR"

// TestMain lets the test binary be a process that holds a lock until it is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(holderDir); dir != "" {
		d, err := Create(dir)
		if err != nil || d.WriteConfig(nil) != nil {
			os.Exit(3)
		}
		fmt.Println("locked")
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

// The lock holds between processes and goes with the one that held it.
func TestLockOfAKilledProcess(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	child := exec.Command(exe)
	child.Env = append(os.Environ(), holderDir+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	_, err = Resume(dir)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint(child.Process.Pid)) {
		t.Errorf("error %v; want ErrInUse by process %d", err, child.Process.Pid)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait() // "signal: killed"
	d, err := Resume(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "run")} {
		if _, err := Create(path); !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v; want ENOTDIR and %s", err, path)
		}
	}
	locked := t.TempDir()
	if err := os.Chmod(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 { // to root every folder is writable
		if _, err := Create(locked); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), locked) {
			t.Errorf("error %v", err)
		}
	}
}

func TestProvenance(t *testing.T) {
	d, err := Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.ReadProvenance(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	s := NewSession()
	if s.Version == "" || !strings.HasPrefix(s.GoVersion, "go") || len(s.Command) == 0 || filepath.IsAbs(s.Command[0]) || s.Started.IsZero() {
		t.Errorf("session %+v", s)
	}
	s.Device, s.Driver, s.Binding, s.API, s.Kernels = "a device", "1.2", "goki", "1.3.2", map[string][]string{"engine/gemm": {"tile=16"}}
	first := s
	first.Ended, first.To, first.Outcome = s.Started.Add(time.Second), 12, "interrupted"
	s.From = 12
	want := Provenance{"pbt", "CartPole-v1", 7, &Continued{"batch-0", []int{2, 3}}, []Session{first, s}}
	if err := d.WriteProvenance(want); err != nil {
		t.Fatal(err)
	}
	got, err := d.ReadProvenance()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
	text, err := os.ReadFile(filepath.Join(d.Path(), ProvenanceFile))
	if err != nil || strings.Count(string(text), `"ended"`) != 1 {
		t.Errorf("%s%v", text, err)
	}
	if err := os.WriteFile(filepath.Join(d.Path(), ProvenanceFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	if _, err := d.ReadProvenance(); !errors.As(err, &damaged) || !strings.Contains(err.Error(), ProvenanceFile) {
		t.Errorf("error %v", err)
	}
}

// A process that wakes after its folder was replaced changes nothing of the other's, and a folder that another process holds is not renewed.
func TestReplacedFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	frozen, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, MetricsFile), []byte("left"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Renew(path); !errors.Is(err, ErrInUse) {
		t.Fatalf("error %v; want ErrInUse", err)
	}
	if _, err := os.Stat(filepath.Join(path, MetricsFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+"-away"); err != nil {
		t.Fatal(err)
	}
	other, err := Renew(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.WriteConfig([]byte("seed = 1\n")); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func() error{
		"Check": frozen.Check, "WriteConfig": func() error { return frozen.WriteConfig(nil) },
		"WriteSource":     func() error { return frozen.WriteSource(ConfigFile, nil) },
		"WriteProvenance": func() error { return frozen.WriteProvenance(Provenance{}) },
	} {
		if err := write(); !errors.Is(err, ErrGone) {
			t.Errorf("%s: error %v; want ErrGone", name, err)
		}
	}
	if err := errors.Join(frozen.Remove(), frozen.Close()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(other.Config()); err != nil || string(text) != "seed = 1\n" {
		t.Fatalf("config %q, %v", text, err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Renew(path); !errors.Is(err, ErrNotEmpty) {
		t.Fatalf("error %v; want ErrNotEmpty", err)
	}
	left, err := Renew(path + "-away")
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(left.Path()); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v; want the lock alone", entries, err)
	}
	if err := left.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v; want no folder", err)
	}
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
}
