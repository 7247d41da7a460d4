package dmenvrpc

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/bridge"
)

// rpcPython returns a Python that has the packages dm-env-rpc and dm-env: the one that EVORL_BRIDGE_PYTHON names, if it has them.
func rpcPython(t *testing.T) string {
	t.Helper()
	python := os.Getenv("EVORL_BRIDGE_PYTHON")
	if python == "" {
		t.Skip("EVORL_BRIDGE_PYTHON names no Python")
	}
	if out, err := exec.Command(python, "-c", "import dm_env, dm_env_rpc.v1").CombinedOutput(); err != nil {
		t.Skipf("%s has no dm_env and dm_env_rpc: %v, %.200s", python, err, out)
	}
	return python
}

// The server passes the compliance tests of dm_env_rpc, and dm_env's of an environment over it.
func TestCompliance(t *testing.T) {
	python := rpcPython(t)
	for _, env := range []string{"CartPole-v1", "Pendulum-v1"} {
		name, _ := serve(t, env, ServerConfig{Options: envs.Options{TimeLimit: 30}})
		out, err := exec.CommandContext(t.Context(), python, "testdata/compliance.py", strings.TrimPrefix(name, Prefix)).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "\nOK") {
			t.Errorf("%s: %v\n%s", env, err, out)
		}
	}
}

// A server in Python, by the protocol's own package, is stepped as its rules say: bytes of an image, actions from -1, seeds.
func TestPythonServer(t *testing.T) {
	python := rpcPython(t)
	server := exec.CommandContext(t.Context(), python, "testdata/catch.py")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill() // it serves for ever
		_ = server.Wait()
	}()
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	const n, side = 3, 5
	failures = bridge.Failures{}
	cfg := Default()
	cfg.Create, cfg.Seed, cfg.Restarts, cfg.Timeout = `{"seed": 3}`, "seed", 0, 30*time.Second
	st := open(t, Prefix+"127.0.0.1:"+strings.TrimSpace(port), cfg, n)
	if a, o := st.layout.action, st.layout.observation; a.N != 3 || !slices.Equal(o.Axes, []int{side, side, 1}) {
		t.Fatalf("spaces %v, %v", o, a)
	}
	s := stepOf(n, side*side, 1)
	seeds := []uint32{7, 8, 1<<32 - 1}
	if err := st.Reset(t.Context(), nil, seeds, s.Obs); err != nil {
		t.Fatal(err)
	}
	board := func(row, ball, paddle int) []float32 {
		b := make([]float32, side*side)
		b[row*side+ball], b[(side-1)*side+paddle] = 1, 1
		return b
	}
	paddles := []int{2, 2, 2}
	for k := range 14 {
		clear(s.Terminated)
		for i := range n {
			s.Action[i] = float32((k + i) % 3)
		}
		if err := st.Step(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		row, sequence := k%4+1, k/4
		for i := range n {
			ball := (int(seeds[i]) + sequence) % side
			paddles[i] = min(max(paddles[i]+int(s.Action[i])-1, 0), side-1)
			reward, at, want := float32(0), s.Obs, board(row, ball, paddles[i])
			if row == 4 {
				if reward, at = -1, s.Final; paddles[i] == ball {
					reward = 1
				}
				paddles[i] = 2
				if got := st.row(s.Obs, i); !slices.Equal(got, board(0, (ball+1)%side, 2)) {
					t.Errorf("step %d, environment %d begins anew with %v", k, i, got)
				}
			}
			if got := st.row(at, i); s.Reward[i] != reward || s.Terminated[i] != (row == 4) || s.Truncated[i] || !slices.Equal(got, want) {
				t.Errorf("step %d, environment %d: reward %v, ends %t, %t, %v; want %v, %v", k, i, s.Reward[i], s.Terminated[i], s.Truncated[i], got, reward, want)
			}
		}
	}
}
