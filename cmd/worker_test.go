package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// heard is what a process says while a test reads it.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// until waits for a condition, for a minute at most.
func until(t *testing.T, what string, said *heard, met func() bool) {
	t.Helper()
	for begin := time.Now(); !met(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("not within a minute: %s\n%s", what, said)
		}
	}
}

// freeAddress returns an address of this machine at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	return free.Addr().String()
}

// Workers wait for a run, go through it together with its coordinator, wait again when that is killed, and end when it is resumed and complete, although one
// of them is killed. The run ends as on one device.
func TestWorker(t *testing.T) {
	b := newBox(t)
	b.write("openes.toml", "workflow = \"openes\"\nenv = \"CartPole-v1\"\niterations = 600\n[openes]\npopulation = 512\n"+
		"[search]\nslice = 64\n[network]\nhidden = [32]\n[evaluation]\nepisodes = 2\n[checkpoint]\nevery = 20\n[environment]\ntime_limit = 100\n")
	at := freeAddress(t)
	said := &heard{}
	lives, _, _ := b.command("worker", "nats://"+at+"/x")
	lives.Stderr = said
	if err := lives.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "a worker that waits", said, func() bool { return strings.Contains(said.String(), "waiting for the coordinator of run \"x\"") })
	share := []string{"--cluster", "embed://" + at + "/x", "openes.toml"}
	first, _, _ := b.command(append([]string{"run", "-q", "--out", "shared"}, share...)...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "a worker in the run", said, func() bool {
		text, err := os.ReadFile(b.path("shared", "metrics.jsonl"))
		return err == nil && strings.Contains(string(text), "\"workers\":2") && strings.Count(string(text), "\n") > 60
	})
	if out := b.must("cluster", "status", "--over", "300ms", "nats://"+at+"/x"); !strings.Contains(out, "run x: iteration ") ||
		!strings.Contains(out, ", 2 workers of 2 known workers, ") || !strings.Contains(out, fmt.Sprintf("-%d-", lives.Process.Pid)) {
		t.Errorf("the status is\n%s", out)
	}
	if out := b.must("cluster", "status", "--json", "nats://"+at+"/x"); !strings.Contains(out, `"bytes_to_all":`) {
		t.Errorf("the status is %s", out)
	}
	if _, stderr, status := b.run("cluster", "status", "nats://"+at+"/y"); status != statusFailed || !strings.Contains(stderr, "no run \"y\"") {
		t.Errorf("status %d\n%s", status, stderr)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	dies, _, _ := b.command("worker", "nats://"+at+"/x")
	if err := dies.Start(); err != nil {
		t.Fatal(err)
	}
	resumed, stdout, stderr := b.command(append([]string{"run", "-q", "--json", "--resume", "--out", "shared"}, share...)...)
	if err := resumed.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	if err := dies.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = dies.Wait() // it was killed
	if err := resumed.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	want := b.object(b.must("run", "-q", "--json", "--out", "alone", "openes.toml"))["digest"]
	if got := b.object(stdout.String())["digest"]; got != want {
		t.Errorf("it ends with %v; want %v, as on one device", got, want)
	}
	defer time.AfterFunc(20*time.Second, func() { _ = lives.Process.Kill() }).Stop()
	if err := lives.Wait(); err != nil {
		t.Errorf("the worker ends with %v\n%s", err, said)
	}
	for _, want := range []string{"waiting for the coordinator of run \"x\"", "openes on CartPole-v1, 600 iterations", "joining the run again"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the worker did not say %q:\n%s", want, said)
		}
	}
	if out := b.must("inspect", "shared"); !strings.Contains(out, fmt.Sprintf("-%d-", lives.Process.Pid)) {
		t.Errorf("inspect does not name the worker:\n%s", out)
	}
	b.write("ppo.toml", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n")
	for _, of := range []struct{ args, want string }{
		{"run --cluster embed ppo.toml", "want more actors, more members, or one device"}, {"run --cluster embed://0.0.0.0:0 openes.toml", "a login"},
		{"run --login f openes.toml", "--cluster"}, {"run --sign f openes.toml", "--cluster"}, {"worker --trust x nats://h", "the public key"},
		{"worker --outside exec:./x nats://h", "whose key it trusts"},
		{"worker embed", "nats://host:4222"}, {"worker", "URL"},
	} {
		if _, stderr, status := b.run(strings.Fields(of.args)...); status == 0 || !strings.Contains(stderr, of.want) {
			t.Errorf("%s: status %d, want %q in\n%s", of.args, status, of.want, stderr)
		}
	}
}

// A run with GLSL of its own is shared by workers that trust its key, which it shows; others say which key that is.
func TestWorkerTrust(t *testing.T) {
	b := ownBox(t)
	_, unsigned, status := b.run("run", "--cluster", "embed://127.0.0.1:0", "point.toml")
	if status != statusUsage || !strings.Contains(unsigned, "want --sign FILE") {
		t.Errorf("status %d\n%s", status, unsigned)
	}
	key := strings.TrimSpace(b.must("cluster", "key", "key"))
	at, said, refused := freeAddress(t), &heard{}, &heard{}
	trusts, _, _ := b.command("worker", "--trust", key, "nats://"+at)
	doubts, _, _ := b.command("worker", "nats://"+at)
	trusts.Stderr, doubts.Stderr = said, refused
	if err := errors.Join(trusts.Start(), doubts.Start()); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := b.run("run", "--json", "--cluster", "embed://"+at, "--sign", "key", "--iterations", "20", "--out", "shared", "point.toml")
	if status != 0 || !strings.Contains(stderr, " worker --trust "+key+" nats://"+at) {
		t.Fatalf("status %d\n%s", status, stderr)
	}
	want := b.object(b.must("run", "-q", "--json", "--iterations", "20", "--set", "members.slice=1", "--out", "alone", "point.toml"))["digest"]
	if got := b.object(stdout)["digest"]; got != want {
		t.Errorf("it ends with %v; want %v, as on one device", got, want)
	}
	if err := trusts.Wait(); err != nil || !strings.Contains(said.String(), "ppo on point.glsl") {
		t.Errorf("the worker that trusts the key ends with %v\n%s", err, said)
	}
	if err := doubts.Wait(); err == nil || !strings.Contains(refused.String(), "--trust "+key) {
		t.Errorf("the other one ends with %v\n%s", err, refused)
	}
}
