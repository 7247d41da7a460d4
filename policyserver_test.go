package evorl

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evorl/evorl/engine/nn"
)

// served is a server of a policy, and a client of it.
type served struct {
	*testing.T
	url string
}

func policyOf(t *testing.T, name string) *Policy {
	t.Helper()
	for _, c := range modelCases() {
		if c.name == name {
			return c.policy()
		}
	}
	t.Fatalf("there is no case %q", name)
	return nil
}

func serve(t *testing.T, p *Policy, cfg PolicyServerConfig) served {
	t.Helper()
	server, err := NewPolicyServer(p, cfg)
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	return served{t, listening.URL}
}

// ask sends a request with JSON, and decodes the answer.
func (s served) ask(method, path, body string, into any) (status int) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.Fatalf("%v in %s", err, text)
		}
	}
	return answer.StatusCode
}

// body formats a request.
func body(t *testing.T, fields map[string]any) string {
	t.Helper()
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A batch over HTTP gets the policy's actions, discrete and continuous ones.
func TestPolicyServer(t *testing.T) {
	for _, name := range []string{"categorical", "gaussian", "binned", "dueling"} {
		t.Run(name, func(t *testing.T) {
			p := policyOf(t, name)
			s := serve(t, p, PolicyServerConfig{})
			var obs [][]float32
			rng := rand.New(rand.NewPCG(1, 2))
			for range 33 {
				row := make([]float32, p.inputs())
				for i := range row {
					row[i] = float32(rng.NormFloat64())
				}
				obs = append(obs, row)
			}
			var got struct{ Actions []json.RawMessage }
			if status := s.ask("POST", "/act", body(t, map[string]any{"obs": obs}), &got); status != http.StatusOK || len(got.Actions) != len(obs) {
				t.Fatalf("status %d, %d actions", status, len(got.Actions))
			}
			for i, text := range got.Actions {
				if p.Action.Discrete {
					text = slices.Concat([]byte("["), text, []byte("]"))
				}
				var action []float64
				if err := json.Unmarshal(text, &action); err != nil {
					t.Fatal(err)
				}
				want, _, _ := act(p, obs[i], nil)
				compare(t, "action", i, action, want)
			}
		})
	}
}

// Observations may be nested as their shape is, or flat, and bytes.
func TestPolicyServerImages(t *testing.T) {
	p := policyOf(t, "image")
	p.Space = &PolicySpace{Shape: nn.Shape{7, 6, 3}, Type: nn.Bytes, Low: []Number{0}, High: []Number{1}}
	s := serve(t, p, PolicyServerConfig{})
	var nested [7][6][3]int
	var scaled []float32
	for i := range 7 * 6 * 3 {
		nested[i/18][i/3%6][i%3] = i * 2
		scaled = append(scaled, float32(i*2)/255)
	}
	want, _, _ := act(p, scaled, nil)
	for what, fields := range map[string]map[string]any{
		"nested bytes": {"obs": []any{nested}, "type": "uint8"},
		"flat floats":  {"obs": [][]float32{scaled}},
	} {
		var got struct{ Actions []float64 }
		if status := s.ask("POST", "/act", body(t, fields), &got); status != http.StatusOK || !slices.Equal(got.Actions, want) {
			t.Errorf("%s: status %d, %v; want %v", what, status, got.Actions, want)
		}
	}
	var spec ServedSpec
	if s.ask("GET", "/spec", "", &spec); !slices.Equal(spec.Observation.Shape, []int{7, 6, 3}) || spec.Observation.Type != nn.Bytes || spec.Action.N != 3 {
		t.Errorf("%+v", spec)
	}
}

// Sessions carry memory from step to step, each its own, and zero it where an episode begins.
func TestPolicyServerSessions(t *testing.T) {
	p := policyOf(t, "lstm-image")
	s := serve(t, p, PolicyServerConfig{})
	rng := rand.New(rand.NewPCG(5, 6))
	const environments = 3
	type client struct {
		id     string
		memory [environments][]float32
	}
	var clients [2]client
	for i := range clients {
		var got struct{ Session string }
		if status := s.ask("POST", "/sessions", `{"environments": 3}`, &got); status != http.StatusCreated {
			t.Fatalf("status %d", status)
		}
		clients[i].id = got.Session
		for e := range environments {
			clients[i].memory[e] = make([]float32, p.memory())
		}
	}
	for step := range 6 {
		for i := range clients {
			c := &clients[i]
			var obs [environments][]float32
			reset := []bool{step == 3, false, step == 4}
			for e := range obs {
				obs[e] = make([]float32, p.inputs())
				for j := range obs[e] {
					obs[e][j] = float32(rng.NormFloat64())
				}
				if reset[e] {
					clear(c.memory[e])
				}
			}
			var got struct{ Actions [][]float64 }
			if status := s.ask("POST", "/act", body(t, map[string]any{"obs": obs, "session": c.id, "reset": reset}), &got); status != http.StatusOK {
				t.Fatalf("status %d", status)
			}
			for e, action := range got.Actions {
				want, _, next := act(p, obs[e], c.memory[e])
				compare(t, "action", step, action, want)
				for j, v := range next {
					c.memory[e][j] = float32(v)
				}
			}
		}
	}
	zeros := body(t, map[string]any{"obs": [][]float32{make([]float32, p.inputs())}})
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{zeros, http.StatusBadRequest, "the policy has memory"},
		{strings.Replace(zeros, "{", `{"session": "`+clients[0].id+`", `, 1), http.StatusBadRequest, "in a session of 3 environments"},
		{strings.Replace(zeros, "{", `{"session": "other", `, 1), http.StatusNotFound, "there is none"},
	} {
		var got struct{ Error string }
		if status := s.ask("POST", "/act", c.body, &got); status != c.status || !strings.Contains(got.Error, c.want) {
			t.Errorf("status %d, %s; want %d, %s", status, got.Error, c.status, c.want)
		}
	}
	if status := s.ask("DELETE", "/sessions/"+clients[0].id, "", nil); status != http.StatusNoContent {
		t.Errorf("ending a session: status %d", status)
	}
	if status := s.ask("DELETE", "/sessions/"+clients[0].id, "", nil); status != http.StatusNotFound {
		t.Errorf("ending it again: status %d", status)
	}
}

// There are at most so many sessions, of which unused ones make room.
func TestPolicyServerSessionLimit(t *testing.T) {
	s := serve(t, policyOf(t, "gru"), PolicyServerConfig{MaxSessions: 2, Idle: 200 * time.Millisecond})
	for i, want := range []int{http.StatusCreated, http.StatusCreated, http.StatusTooManyRequests} {
		if status := s.ask("POST", "/sessions", "{}", nil); status != want {
			t.Errorf("session %d: status %d; want %d", i, status, want)
		}
	}
	time.Sleep(300 * time.Millisecond)
	if status := s.ask("POST", "/sessions", "{}", nil); status != http.StatusCreated {
		t.Errorf("after a time without use: status %d", status)
	}
}

// Sessions have so many environments in all.
func TestPolicyServerEnvironmentLimit(t *testing.T) {
	s := serve(t, policyOf(t, "gru"), PolicyServerConfig{MaxBatch: 2})
	for i := range maxShare + 1 {
		want := http.StatusCreated
		if i == maxShare {
			want = http.StatusTooManyRequests
		}
		if status := s.ask("POST", "/sessions", `{"environments": 2}`, nil); status != want {
			t.Errorf("session %d: status %d; want %d", i, status, want)
		}
	}
}

// A seed repeats what is drawn; without one, requests differ.
func TestPolicyServerDraws(t *testing.T) {
	p := policyOf(t, "gaussian-squashed-state")
	p.Action.LogStdLow, p.Action.LogStdHigh = -2, 0
	s := serve(t, p, PolicyServerConfig{Draw: true})
	ask := func(fields string) string {
		var got struct{ Actions json.RawMessage }
		if status := s.ask("POST", "/act", `{"obs": [[1, 2, 3, 4, 5], [0, 0, 0, 0, 0]]`+fields+"}", &got); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		return string(got.Actions)
	}
	if a, b := ask(`, "seed": 7`), ask(`, "seed": 7`); a != b {
		t.Errorf("seed 7 gives %s and %s", a, b)
	}
	if a, b := ask(""), ask(""); a == b {
		t.Errorf("drawn twice: %s", a)
	}
	want, _, _ := act(p, []float32{1, 2, 3, 4, 5}, nil)
	var likely [][]float64
	if err := json.Unmarshal([]byte(ask(`, "draw": false`)), &likely); err != nil {
		t.Fatal(err)
	}
	compare(t, "the most likely action", 0, likely[0], want)
}

// What is wrong is refused with what would be right, and the server goes on.
func TestPolicyServerRefuses(t *testing.T) {
	s := serve(t, policyOf(t, "dueling"), PolicyServerConfig{MaxBatch: 3, MaxBytes: 1000})
	row := "[1, 2, 3, 4]"
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/act", `{}`, 400, "want an array of observations of shape [4]"},
		{"POST", "/act", `{"obs": []}`, 400, "at least one observation"},
		{"POST", "/act", `{"obs": ` + row + `}`, 400, "observation 0 is no array"},
		{"POST", "/act", `{"obs": [[1, 2, 3]]}`, 400, "3 numbers; want shape [4]"},
		{"POST", "/act", `{"obs": [[1, 2, 3, 4, 5]]}`, 400, "more than 4 numbers"},
		{"POST", "/act", `{"obs": [[1, 2, 3, "4"]]}`, 400, "element 3 is no number"},
		{"POST", "/act", `{"obs": [[1, 2, 3, null]]}`, 400, "element 3 is no number"},
		{"POST", "/act", `{"obs": [[1, 2, 3, 1e99]]}`, 400, "1e99"},
		{"POST", "/act", `{"obs": [[[1, 2], [3, 4]]]}`, 400, "element 0 is no number"},
		{"POST", "/act", `{"obs": [` + strings.Repeat(row+",", 3) + row + `]}`, 400, "more than 3 observations"},
		{"POST", "/act", `{"obs": [` + row + `], "draw": true}`, 400, "no distribution"},
		{"POST", "/act", `{"obs": [` + row + `], "seed": 1}`, 400, "actions are not drawn"},
		{"POST", "/act", `{"obs": [` + row + `], "type": "uint8"}`, 400, "of type uint8"},
		{"POST", "/act", `{"obs": [` + row + `], "reset": true}`, 400, "there is no session"},
		{"POST", "/act", `{"obs": [` + row + `], "sample": true}`, 400, "unknown field"},
		{"POST", "/act", `{"obs": [` + row, 400, "unexpected EOF"},
		{"POST", "/act", `{"obs": [` + row + `]} {}`, 400, "more after the object"},
		{"POST", "/act", `{"obs": [[1, 2, 3, 4.` + strings.Repeat("0", 1000) + `]]}`, 413, "longer than 1000 bytes"},
		{"POST", "/sessions", `{"environments": 4}`, 400, "want 1 to 3"},
		{"GET", "/act", "", 405, "want GET /spec"},
		{"GET", "/other", "", 404, "want GET /spec"},
	} {
		var got struct{ Error string }
		if status := s.ask(c.method, c.path, c.body, &got); status != c.status || !strings.Contains(got.Error, c.want) {
			t.Errorf("%s %s %.40s: status %d, %s; want %d, %s", c.method, c.path, c.body, status, got.Error, c.status, c.want)
		}
	}
	answer, err := http.Post(s.url+"/act", "text/plain", bytes.NewReader([]byte("{}")))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("text: status %d", answer.StatusCode)
	}
	if status := s.ask("POST", "/act", `{"obs": [`+row+`]}`, nil); status != http.StatusOK {
		t.Errorf("a good request afterwards: status %d", status)
	}
	if _, err := NewPolicyServer(policyOf(t, "dueling"), PolicyServerConfig{Draw: true}); err == nil {
		t.Error("drawn actions of values")
	}
	if _, err := NewPolicyServer(nil, PolicyServerConfig{}); err == nil {
		t.Error("a server of no policy")
	}
}

// Many clients at once get their own answers.
func TestPolicyServerTogether(t *testing.T) {
	p := policyOf(t, "gaussian")
	s := serve(t, p, PolicyServerConfig{})
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-5 }
	var all sync.WaitGroup
	for client := range 8 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(client), 0))
			for range 20 {
				obs := make([]float32, p.inputs())
				for i := range obs {
					obs[i] = float32(rng.NormFloat64())
				}
				var got struct{ Actions [][]float64 }
				text, _ := json.Marshal(map[string]any{"obs": [][]float32{obs}}) // finite
				answer, err := http.Post(s.url+"/act", "application/json", bytes.NewReader(text))
				if err != nil {
					t.Error(err)
					return
				}
				err = json.NewDecoder(answer.Body).Decode(&got)
				answer.Body.Close()
				want, _, _ := act(p, obs, nil)
				if err != nil || len(got.Actions) != 1 || !slices.EqualFunc(got.Actions[0], want, near) {
					t.Errorf("client %d: %v, %v; want %v", client, err, got.Actions, want)
				}
			}
		})
	}
	all.Wait()
}

// stuck is a client that does not take its answer.
type stuck struct {
	http.ResponseWriter
	writes  sync.WaitGroup // until it is written to
	release chan struct{}
}

func (s *stuck) Write(text []byte) (int, error) {
	s.writes.Done()
	<-s.release
	return len(text), nil
}

// Clients that do not read their answers, correct or errors, as many as the server reads and acts for at a time, keep nobody else from acting.
func TestPolicyServerSlowReaders(t *testing.T) {
	p := policyOf(t, "gaussian")
	server, err := NewPolicyServer(p, PolicyServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	good := body(t, map[string]any{"obs": [][]float32{make([]float32, p.inputs())}})
	ask := func(w http.ResponseWriter, text string) {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/act", strings.NewReader(text))
		r.Header.Set("Content-Type", "application/json")
		server.ServeHTTP(w, r)
	}
	release := make(chan struct{})
	var all sync.WaitGroup
	for _, text := range []string{good, "{}", "no JSON"} {
		for range maxReading {
			w := &stuck{ResponseWriter: httptest.NewRecorder(), release: release}
			w.writes.Add(1)
			all.Go(func() { ask(w, text) })
			done := make(chan struct{})
			go func() {
				w.writes.Wait()
				close(done)
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatalf("%q is not answered beside clients that do not read their answers", text)
			}
		}
	}
	last := httptest.NewRecorder()
	ask(last, good)
	if last.Code != http.StatusOK {
		t.Errorf("status %d, %s", last.Code, last.Body)
	}
	close(release)
	all.Wait()
}
