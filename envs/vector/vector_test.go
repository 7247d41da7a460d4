package vector

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
)

func newCartPoles(t *testing.T, n, limit int, mode Autoreset) *Environments {
	t.Helper()
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(t.Context(), vktest.Device(t), env, n, envs.Options{TimeLimit: limit}, mode)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// moved is the next state of a cart with a pole, by the equations of Gymnasium's CartPole.
func moved(s []float32, action uint32) (next [4]float64) {
	x, v, a, w := float64(s[0]), float64(s[1]), float64(s[2]), float64(s[3])
	force := 10.0
	if action == 0 {
		force = -10
	}
	sin, cos := math.Sincos(a)
	temp := (force + 0.05*w*w*sin) / 1.1
	turn := (9.8*sin - cos*temp) / (0.5 * (4.0/3 - 0.1*cos*cos/1.1))
	push := temp - 0.05*turn*cos/1.1
	return [4]float64{x + 0.02*v, v + 0.02*push, a + 0.02*w, w + 0.02*turn}
}

// Every step moves every cart from what the step before returned, but where an episode begins: there NextStep returns a first state, a reward of 0 and no
// flags, and SameStep a first state beside the last one.
func TestAutoreset(t *testing.T) {
	const n, steps, limit = 7, 120, 13
	for _, mode := range []Autoreset{NextStep, SameStep} {
		t.Run(mode.String(), func(t *testing.T) {
			e := newCartPoles(t, n, limit, mode)
			rng := rand.New(rand.NewPCG(4, uint64(mode)))
			obs, err := e.Reset(t.Context(), 3)
			if err != nil {
				t.Fatal(err)
			}
			last := append([]float32(nil), obs...)
			var length [n]int
			var begins [n]bool // NextStep: in the next step
			ended, truncated := 0, 0
			for k := range steps {
				actions := make([]uint32, n)
				for i := range actions {
					actions[i] = rng.Uint32N(2)
				}
				s, err := e.Step(t.Context(), actions)
				if err != nil {
					t.Fatal(err)
				}
				finals := map[int][]float32{}
				for j, i := range s.Ended {
					finals[i] = s.Final[4*j:][:4]
				}
				for i := range n {
					now := s.Obs[4*i:][:4]
					first := func() {
						for _, v := range now {
							if math.Abs(float64(v)) > 0.05 {
								t.Fatalf("step %d, environment %d: an episode begins with %v", k, i, now)
							}
						}
						length[i] = 0
					}
					if begins[i] {
						if begins[i] = false; s.Reward[i] != 0 || s.Done[i] != 0 {
							t.Fatalf("step %d, environment %d begins with reward %g and flags %d", k, i, s.Reward[i], s.Done[i])
						}
						first()
						continue
					}
					length[i]++
					arrived := now
					if over := s.Done[i].Over(); over != (finals[i] != nil) && mode == SameStep {
						t.Fatalf("step %d, environment %d: flags %d, last observation %v", k, i, s.Done[i], finals[i])
					} else if over && mode == SameStep {
						arrived = finals[i]
					}
					for f, want := range moved(last[4*i:], actions[i]) {
						if math.Abs(float64(arrived[f])-want) > 1e-5 {
							t.Fatalf("step %d, environment %d: %v after %v and action %d; want %v", k, i, arrived, last[4*i:][:4], actions[i], want)
						}
					}
					if s.Reward[i] != 1 || (length[i] == limit) != (s.Done[i]&envs.Truncated != 0) {
						t.Fatalf("step %d, environment %d: reward %g, flags %d after %d steps", k, i, s.Reward[i], s.Done[i], length[i])
					}
					if s.Done[i].Over() {
						ended++
						if s.Done[i]&envs.Truncated != 0 {
							truncated++
						}
						if mode == SameStep {
							first()
						} else {
							begins[i] = true
						}
					}
				}
				copy(last, s.Obs)
			}
			if ended < 20 || truncated == 0 || truncated == ended {
				t.Errorf("%d episodes, %d truncated: too few of a kind", ended, truncated)
			}
		})
	}
}

// client speaks the protocol.
type client struct {
	*testing.T
	in  *bufio.Reader
	out io.Writer
}

func (c client) ask(words ...uint32) (status uint32, answer []byte) {
	c.Helper()
	request := []byte{}
	for _, w := range words {
		request = binary.LittleEndian.AppendUint32(request, w)
	}
	if _, err := c.out.Write(request); err != nil {
		c.Fatal(err)
	}
	var head [8]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		c.Fatal(err)
	}
	answer = make([]byte, binary.LittleEndian.Uint32(head[4:]))
	if _, err := io.ReadFull(c.in, answer); err != nil {
		c.Fatal(err)
	}
	return binary.LittleEndian.Uint32(head[:]), answer
}

// A program gets over a pipe what Step returns, is told what is wrong, and goes on.
func TestServe(t *testing.T) {
	const n = 3
	served, same := newCartPoles(t, n, 4, SameStep), newCartPoles(t, n, 4, SameStep)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(t.Context(), in, out) }()
	c := client{t, bufio.NewReader(fromServer), toServer}
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var hello Hello
	if err := json.Unmarshal(line, &hello); err != nil || hello.Environments != n || hello.Action.N != 2 || len(hello.Observation.Low) != 4 ||
		hello.TimeLimit != 4 || hello.Autoreset != SameStep {
		t.Fatalf("%v, %s", err, line)
	}
	if status, answer := c.ask(CommandStep, 0, 0, 0, 0); status != 1 || !strings.Contains(string(answer), "before the first reset") {
		t.Errorf("status %d, %s", status, answer)
	}
	obs, err := same.Reset(t.Context(), 9)
	if err != nil {
		t.Fatal(err)
	}
	floats := func(text []byte, want []float32) []byte {
		t.Helper()
		for i, v := range want {
			if got := math.Float32frombits(binary.LittleEndian.Uint32(text[4*i:])); got != v {
				t.Fatalf("float %d is %g; want %g", i, got, v)
			}
		}
		return text[4*len(want):]
	}
	_, answer := c.ask(CommandReset, 9)
	floats(answer, obs)
	if status, answer := c.ask(CommandStep, 0, 1, 7, 1); status != 1 || !strings.Contains(string(answer), "action 7 of environment 1; want 0 to 1") {
		t.Errorf("status %d, %s", status, answer)
	}
	finals := 0
	for range 9 {
		want, err := same.Step(t.Context(), []uint32{1, 0, 1})
		if err != nil {
			t.Fatal(err)
		}
		_, answer := c.ask(CommandStep, 0, 1, 0, 1)
		answer = floats(floats(answer, want.Obs), want.Reward)
		for i, d := range want.Done {
			if answer[i] != byte(d) {
				t.Errorf("flags of environment %d are %d; want %d", i, answer[i], d)
			}
		}
		answer = answer[n:]
		for k, i := range want.Ended {
			if got := binary.LittleEndian.Uint32(answer); got != uint32(i) {
				t.Fatalf("environment %d ended; want %d", got, i)
			}
			answer = floats(answer[4:], want.Final[4*k:][:4])
			finals++
		}
		if len(answer) != 0 {
			t.Errorf("%d bytes too many", len(answer))
		}
	}
	if finals < 2*n {
		t.Errorf("%d episodes ended", finals)
	}
	toServer.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRefuses(t *testing.T) {
	env, err := envs.Lookup("CartPole-v1")
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"disabled": func() error {
			_, err := New(t.Context(), vktest.Device(t), env, 1, envs.Options{AutoReset: envs.Disabled}, NextStep)
			return err
		}(),
		"mode": func() error {
			_, err := New(t.Context(), vktest.Device(t), env, 1, envs.Options{}, 2)
			return err
		}(),
		"none": func() error {
			_, err := New(t.Context(), vktest.Device(t), env, 0, envs.Options{}, NextStep)
			return err
		}(),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	e := newCartPoles(t, 1, 0, NextStep)
	if err := e.Serve(t.Context(), strings.NewReader("\x09\x00\x00\x00\x00\x00\x00\x00"), io.Discard); err == nil || !strings.Contains(err.Error(), "command 9") {
		t.Error(err)
	}
	if err := e.Serve(t.Context(), strings.NewReader("\x02\x00"), io.Discard); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Error(err)
	}
}
