//go:build unix

package cmd

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A worker elsewhere steps environments in Python, as an actor or in a whole run of a sweep, if its command line names them and trusts the run's key. Without
// either it starts nothing and says what is missing. No process is left.
func TestBridgeWorkers(t *testing.T) {
	b := bridgeBox(t)
	key := strings.TrimSpace(b.must("cluster", "key", "key"))
	b.write("s.toml", "config = \"ppo.toml\"\n[keys.\"network.activation\"]\nchoices = [\"tanh\", \"relu\", \"silu\", \"gelu\"]\n")
	const name = "python:walk:make"
	for of, command := range map[string][]string{
		"run":   {"run", "--iterations", "200", "--set", "ppo.actors=2", "--set", "ppo.lag=1", "ppo.toml"},
		"sweep": {"sweep", "s.toml"},
	} {
		t.Run(of, func(t *testing.T) {
			at := freeAddress(t)
			share := append([]string{command[0], "--cluster", "embed://" + at, "--out", of}, command[1:]...)
			if _, stderr, status := b.run(share...); status != statusUsage || !strings.Contains(stderr, "--outside "+name+" --trust") {
				t.Errorf("without a key: status %d\n%s", status, stderr)
			}
			said := [3]*heard{}
			start := func(i int, args ...string) func() error {
				said[i] = &heard{}
				worker, _, _ := b.command(append([]string{"worker"}, args...)...)
				worker.Stderr = said[i]
				if err := worker.Start(); err != nil {
					t.Fatal(err)
				}
				until(t, "a worker that waits", said[i], func() bool { return strings.Contains(said[i].String(), "waiting for the coordinator") })
				return worker.Wait
			}
			trusts := start(0, "--trust", key, "--outside", name, "nats://"+at)
			names := start(1, "--trust", key, "--outside", "python:walk:other", "nats://"+at)
			doubts := start(2, "nats://"+at)
			run, _, stderr := b.command(append(share, "--sign", "key")...)
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			for i, of := range []struct {
				end  func() error
				want string
			}{{names, "evorl worker --outside " + name}, {doubts, "--outside " + name + " --trust " + key}} {
				if err := of.end(); err == nil || !strings.Contains(said[i+1].String(), of.want) {
					t.Errorf("a worker without trust ends with %v\n%s; want %q", err, said[i+1], of.want)
				}
			}
			if err := errors.Join(run.Wait(), trusts()); err != nil {
				t.Errorf("%v\n%s\n%s", err, stderr, said[0])
			}
			if !strings.Contains(said[0].String(), fmt.Sprintf("ppo on %s", name)) {
				t.Errorf("the worker that trusts it says\n%s", said[0])
			}
			b.noServers()
		})
	}
}
