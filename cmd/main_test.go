package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// program builds evorl once and returns its path.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "evorl-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "evorl")
	out, err := exec.Command("go", "build", "-o", path, "./evorl").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(status)
}

// tiny is a run of PBT that takes a second or two.
const tiny = `
workflow = "pbt"
env = "CartPole-v1"
iterations = 24
seed = 3
[network]
hidden = [16]
[ppo]
members = 8
environments = 2
rollout_length = 32
epochs = 2
[pbt]
warmup = 4
interval = 4
episodes = 2
[evaluation]
every = 8
episodes = 2
[checkpoint]
every = 3
`

// box is a folder of its own to run evorl in.
type box struct {
	t       *testing.T
	dir     string
	env     []string
	program string // "": evorl
}

func newBox(t *testing.T) *box {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program")
	}
	b := &box{t: t, dir: t.TempDir()}
	b.write("tiny.toml", tiny)
	return b
}

func (b *box) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) path(name ...string) string {
	return filepath.Join(append([]string{b.dir}, name...)...)
}

// command prepares a command line; it is killed after two minutes.
func (b *box) command(args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	b.t.Helper()
	path := b.program
	if path == "" {
		var err error
		if path, err = program(); err != nil {
			b.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	b.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), b.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	return cmd, &stdout, &stderr
}

// run runs evorl and returns what it wrote and its exit status.
func (b *box) run(args ...string) (stdout, stderr string, status int) {
	b.t.Helper()
	cmd, out, errs := b.command(args...)
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must runs evorl and demands success; it returns standard output.
func (b *box) must(args ...string) string {
	b.t.Helper()
	stdout, stderr, status := b.run(args...)
	if status != 0 {
		b.t.Fatalf("evorl %s: status %d\n%s%s", strings.Join(args, " "), status, stdout, stderr)
	}
	return stdout
}

// object reads the last line of what a command wrote.
func (b *box) object(stdout string) map[string]any {
	b.t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var v map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &v); err != nil {
		b.t.Fatalf("%v in\n%s", err, stdout)
	}
	return v
}

// --wandb is answered by how to send metrics there.
func TestWandb(t *testing.T) {
	var stderr bytes.Buffer
	status := execute(t.Context(), newRoot("evorl", nil), []string{"run", "--wandb", "a.toml"}, io.Discard, &stderr)
	if text := stderr.String(); status != statusUsage || !strings.Contains(text, "wandb.init(") || strings.Contains(text, "wandb sync") {
		t.Errorf("status %d\n%s", status, text)
	}
}
