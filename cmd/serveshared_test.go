//go:build unix

package cmd

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// sharer is a program that asks evorl serve --shared.
type sharer struct {
	t      *testing.T
	spec   sharedSpec
	memory []byte
	in     io.WriteCloser
	out    *bufio.Reader
	asked  uint32
}

// act asks for actions of all rows, and returns what was wrong.
func (s *sharer) act(obs [][]float32) (actions []int, fault string) {
	s.t.Helper()
	for i, row := range obs {
		for k, v := range row {
			binary.LittleEndian.PutUint32(s.memory[s.spec.Obs+4*(i*len(row)+k):], math.Float32bits(v))
		}
	}
	s.asked++
	message := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, s.asked), uint32(len(obs)))
	if _, err := s.in.Write(message); err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.ReadFull(s.out, message); err != nil {
		s.t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint32(message); got != s.asked {
		s.t.Fatalf("an answer to %d; want to %d", got, s.asked)
	}
	if binary.LittleEndian.Uint32(message[4:]) != 0 {
		text, _, _ := bytes.Cut(s.memory[s.spec.Fault:], []byte{0})
		return nil, string(text)
	}
	for i := range obs {
		actions = append(actions, int(int32(binary.LittleEndian.Uint32(s.memory[s.spec.Actions+4*i:]))))
	}
	return actions, ""
}

// A policy with memory acts in shared memory as it does over HTTP: in every row for itself, from step to step and where episodes begin. A wrong request
// changes nothing. No file is left.
func TestServeShared(t *testing.T) {
	const rows, steps = 24, 12
	b := newBox(t)
	b.write("memory.toml", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\niterations = 1\nseed = 3\n[ppo]\nenvironments = 4\nrollout_length = 16\n"+
		"[[network.layers]]\ntype = \"gru\"\nunits = 8\n[evaluation]\nepisodes = 2\nbest_episodes = 0\n")
	b.must("run", "-q", "--out", "r", "memory.toml")
	begin := func(args ...string) (in io.WriteCloser, out *bufio.Reader, wait func() error) {
		t.Helper()
		cmd, _, errors := b.command(append([]string{"serve"}, args...)...)
		cmd.Stdout = nil
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return in, bufio.NewReader(pipe), func() error {
			if err := cmd.Wait(); err != nil {
				return fmt.Errorf("%w\n%s", err, errors)
			}
			return nil
		}
	}
	in, out, wait := begin("--shared", fmt.Sprint(rows), "r")
	line, err := out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err, wait())
	}
	s := &sharer{t: t, in: in, out: out}
	if err := json.Unmarshal(line, &s.spec); err != nil || s.spec.Rows != rows || s.spec.Memory != 8 || s.spec.Env != "CartPole-v1" || s.spec.Action.N != 2 {
		t.Fatalf("%v in %s", err, line)
	}
	file, err := os.OpenFile(s.spec.File, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if s.memory, err = unix.Mmap(int(file.Fd()), 0, s.spec.Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	file.Close()

	_, httpOut, _ := begin("r")
	url, err := httpOut.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	post := func(path string, body any, into any) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Post(strings.TrimSpace(url)+path, "application/json", bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(into); err != nil || answer.StatusCode/100 != 2 {
			t.Fatalf("%s: status %d, %v", path, answer.StatusCode, err)
		}
	}
	var session struct{ Session string }
	post("/sessions", map[string]any{"environments": rows}, &session)
	rng, all := rand.New(rand.NewPCG(5, 6)), []int{}
	for step := range steps {
		obs, reset := make([][]float32, rows), make([]bool, rows)
		for i := range obs {
			obs[i] = []float32{rng.Float32() - 0.5, rng.Float32() - 0.5, rng.Float32() - 0.5, rng.Float32() - 0.5}
			if reset[i] = (step+i)%7 == 0; reset[i] {
				s.memory[s.spec.Begins+i] = 1
			}
		}
		if step == 5 {
			obs[rows-1][2] = float32(math.NaN())
			if _, fault := s.act(obs); !strings.Contains(fault, "row 23") || !strings.Contains(fault, "want finite numbers") {
				t.Errorf("an observation that is not finite: %q", fault)
			}
			if _, fault := s.act(make([][]float32, rows+1)); !strings.Contains(fault, "actions for 25 rows; want 1 to 24") {
				t.Errorf("too many rows: %q", fault)
			}
			obs[rows-1][2] = 0.25
		}
		got, fault := s.act(obs)
		var want struct{ Actions []int }
		post("/act", map[string]any{"obs": obs, "session": session.Session, "reset": reset}, &want)
		if fault != "" || !slices.Equal(got, want.Actions) {
			t.Fatalf("step %d: %v %s; want %v", step, got, fault, want.Actions)
		}
		all = append(all, got...)
	}
	if slices.Min(all) != 0 || slices.Max(all) != 1 {
		t.Errorf("all actions are %d: nothing is compared", all[0])
	}
	if _, err := os.Stat(s.spec.File); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
}
