package evorl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/evorl/evorl/engine/nn"
)

// PolicyServerConfig configures a PolicyServer. The zero value has the defaults.
type PolicyServerConfig struct {
	Draw        bool          // draw actions where a request does not say; otherwise they are the most likely ones
	MaxBatch    int           // observations of a request and environments of a session; 0: 4096
	MaxBytes    int64         // of a request; 0: 64 MiB
	MaxSessions int           // at a time; 0: 1024
	Idle        time.Duration // after which an unused session may be ended; 0: 10 minutes
}

// PolicyServer is an http.Handler that answers observations with the actions of a policy. docs/serve.md documents requests and answers:
//
//	GET /spec                what observations and actions are, and what the policy is of
//	POST /act                {"obs": [[…], …]} → {"actions": […]}
//	POST /sessions           {"environments": n} → {"session": "…"}, for policies with memory
//	DELETE /sessions/{id}    ends a session
//
// It computes on the host, is safe for concurrent use, and authenticates nobody: what it listens on is the caller's choice.
type PolicyServer struct {
	actor    *Actor
	config   PolicyServerConfig
	shape    nn.Shape // of an observation
	mux      *http.ServeMux
	reading  chan struct{} // holds a token for each request whose body is in memory
	at       chan struct{} // likewise that computes
	mu       sync.Mutex
	sessions map[string]*session
}

// NewPolicyServer makes a server for a policy. It is an error if the policy's parts do not fit each other, or a limit is negative.
func NewPolicyServer(p *Policy, cfg PolicyServerConfig) (*PolicyServer, error) {
	if p == nil {
		return nil, errors.New("evorl: a server of no policy")
	}
	actor, err := p.Actor()
	if err != nil {
		return nil, err
	}
	if cfg.MaxBatch < 0 || cfg.MaxBytes < 0 || cfg.MaxSessions < 0 || cfg.Idle < 0 {
		return nil, fmt.Errorf("evorl: server of a policy: %+v; want limits of at least 0", cfg)
	}
	if cfg.Draw && !actor.Draws() {
		return nil, fmt.Errorf("evorl: a %s head: %w", p.Action.Head, ErrNoDistribution)
	}
	orDefault(&cfg.MaxBatch, 4096)
	orDefault(&cfg.MaxBytes, 64<<20)
	orDefault(&cfg.MaxSessions, 1024)
	orDefault(&cfg.Idle, 10*time.Minute)
	s := &PolicyServer{
		actor: actor, config: cfg, mux: http.NewServeMux(), at: make(chan struct{}, runtime.GOMAXPROCS(0)), reading: make(chan struct{}, maxReading),
		sessions: map[string]*session{}, shape: nn.Shape{actor.Observations()},
	}
	if p.Space != nil {
		if s.shape = p.Space.Shape; s.shape.Size() != actor.Observations() {
			return nil, fmt.Errorf("evorl: server of a policy: observations of shape %v and %d inputs", s.shape, actor.Observations())
		}
	}
	s.mux.HandleFunc("GET /spec", s.spec)
	s.mux.HandleFunc("POST /act", s.act)
	s.mux.HandleFunc("POST /sessions", s.open)
	s.mux.HandleFunc("DELETE /sessions/{id}", s.end)
	return s, nil
}

// Limits that are no settings: requests that are in memory at a time, and environments of all sessions as a multiple of those of one.
const (
	maxReading = 64
	maxShare   = 16
)

func orDefault[T comparable](of *T, value T) {
	var zero T
	if *of == zero {
		*of = value
	}
}

// ServeHTTP implements http.Handler.
func (s *PolicyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if _, pattern := s.mux.Handler(r); pattern == "" {
		answer := &plainError{ResponseWriter: w}
		s.mux.ServeHTTP(answer, r) // sets Allow where only the method is wrong
		refuse(w, answer.status, "%s %s: want GET /spec, POST /act, POST /sessions or DELETE /sessions/{id}", r.Method, r.URL.Path)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// plainError takes the status of an answer and drops its text.
type plainError struct {
	http.ResponseWriter
	status int
}

func (p *plainError) WriteHeader(status int)         { p.status = status }
func (p *plainError) Write(text []byte) (int, error) { return len(text), nil }

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	answer(w, status, refusal(format, args...))
}

// refusal is the body of an error.
func refusal(format string, args ...any) any {
	return map[string]string{"error": fmt.Sprintf(format, args...)}
}

func answer(w http.ResponseWriter, status int, of any) {
	text, err := json.Marshal(of)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error": "the answer is no JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // who asked is gone
}

// read decodes the JSON of a request. If that is wrong, it returns what to answer.
func (s *PolicyServer) read(w http.ResponseWriter, r *http.Request, into any) (status int, wrong any) {
	// A form of another site's page cannot send this type, so that a browser asks before it sends anything.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return http.StatusUnsupportedMediaType, refusal("Content-Type is %q; want application/json", r.Header.Get("Content-Type"))
	}
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, s.config.MaxBytes))
	in.DisallowUnknownFields()
	err := in.Decode(into)
	if err == nil {
		if _, more := in.Token(); more != io.EOF {
			err = errors.New("there is more after the object")
		}
	}
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return http.StatusRequestEntityTooLarge, refusal("the request is longer than %d bytes; want less observations at a time", long.Limit)
	case err != nil:
		return http.StatusBadRequest, refusal("the request: %v", err)
	}
	return 0, nil
}

// actRequest is the body of POST /act.
type actRequest struct {
	Obs     json.RawMessage `json:"obs"`
	Type    *nn.Element     `json:"type"`
	Session string          `json:"session"`
	Reset   json.RawMessage `json:"reset"`
	Draw    *bool           `json:"draw"`
	Seed    *uint64         `json:"seed"`
}

// take waits for a token, and reports whether it got one before whoever asked was gone.
func take(r *http.Request, of chan struct{}) bool {
	select {
	case of <- struct{}{}:
		return true
	case <-r.Context().Done():
		return false
	}
}

// act answers once the tokens of the request are free for others: who asked may read slowly, or not at all.
func (s *PolicyServer) act(w http.ResponseWriter, r *http.Request) {
	if status, of := s.acted(w, r); status != 0 {
		answer(w, status, of)
	}
}

// acted returns what to answer to POST /act; status 0: who asked is gone.
func (s *PolicyServer) acted(w http.ResponseWriter, r *http.Request) (status int, of any) {
	if !take(r, s.reading) {
		return 0, nil
	}
	defer func() { <-s.reading }()
	var request actRequest
	if status, wrong := s.read(w, r, &request); status != 0 {
		return status, wrong
	}
	if !take(r, s.at) {
		return 0, nil
	}
	defer func() { <-s.at }()
	rows, err := readRows(request.Obs, s.shape, s.config.MaxBatch)
	if err == nil && request.Type != nil {
		err = s.scale(rows, *request.Type)
	}
	if err != nil {
		return http.StatusBadRequest, refusal("obs: %v", err)
	}
	draw := s.config.Draw
	if request.Draw != nil {
		draw = *request.Draw
	}
	if draw && !s.actor.Draws() {
		return http.StatusBadRequest, refusal("draw: %v; want false", ErrNoDistribution)
	}
	if request.Seed != nil && !draw {
		return http.StatusBadRequest, refusal("seed: actions are not drawn; want \"draw\": true or no seed")
	}
	var memory [][]float64
	if request.Session == "" {
		if s.actor.Memory() > 0 {
			return http.StatusBadRequest, refusal("session: none, but the policy has memory; want the id that POST /sessions gives")
		}
		if request.Reset != nil {
			return http.StatusBadRequest, refusal("reset: there is no session; want one, or no reset")
		}
		memory = make([][]float64, len(rows))
	} else {
		begun := s.session(request.Session)
		if begun == nil {
			return http.StatusNotFound, refusal("session %q: there is none, or no longer; want one of POST /sessions", request.Session)
		}
		begun.mu.Lock()
		defer begun.mu.Unlock()
		if len(rows) != len(begun.memory) {
			return http.StatusBadRequest, refusal("obs: %d observations in a session of %d environments; want as many", len(rows), len(begun.memory))
		}
		if err := begun.reset(request.Reset); err != nil {
			return http.StatusBadRequest, refusal("reset: %v", err)
		}
		memory = begun.memory
	}
	var rng *rand.Rand
	if draw {
		seed := rand.Uint64()
		if request.Seed != nil {
			seed = *request.Seed
		}
		rng = rand.New(rand.NewPCG(seed, 0))
	}
	return s.actions(r, rows, memory, rng)
}

// actions acts in each row, and returns what to answer. Memory of a session is replaced only if all actions are finite and somebody waits for them.
func (s *PolicyServer) actions(r *http.Request, rows [][]float32, memory [][]float64, rng *rand.Rand) (status int, of any) {
	discrete := s.actor.policy.Action.Discrete
	chosen, vectors, next := []int{}, [][]float32{}, make([][]float64, len(rows))
	for i, obs := range rows {
		if r.Context().Err() != nil {
			return 0, nil
		}
		next[i] = append([]float64(nil), memory[i]...)
		action, err := s.actor.Act(obs, next[i], rng)
		if err == nil {
			for _, v := range action {
				if v-v != 0 {
					err = fmt.Errorf("the policy's action at observation %d is %g", i, v)
				}
			}
		}
		if err != nil {
			return http.StatusInternalServerError, refusal("%v", err)
		}
		if discrete {
			chosen = append(chosen, int(action[0]))
		} else {
			vectors = append(vectors, action)
		}
	}
	copy(memory, next)
	if discrete {
		return http.StatusOK, map[string]any{"actions": chosen}
	}
	return http.StatusOK, map[string]any{"actions": vectors}
}

// scale turns bytes into what the network takes.
func (s *PolicyServer) scale(rows [][]float32, of nn.Element) error {
	if of == nn.Floats {
		return nil
	}
	if of != nn.Bytes || s.Spec().Observation.Type != nn.Bytes {
		return fmt.Errorf("of type %v; want float32, or uint8 if /spec has it", of)
	}
	for i, row := range rows {
		for j, v := range row {
			if !(v >= 0 && v <= 255) {
				return fmt.Errorf("observation %d has the byte %g; want 0 to 255", i, v)
			}
			row[j] = v / 255
		}
	}
	return nil
}
