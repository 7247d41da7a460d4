package evorl

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// session is the memory of environments that are acted in together.
type session struct {
	mu     sync.Mutex
	memory [][]float64 // [environments][Actor.Memory]; its length does not change
	used   time.Time   // guarded by the server's mutex
}

// reset zeroes the memory of environments in which an episode begins: of all, or of those where a list has true.
func (s *session) reset(of json.RawMessage) error {
	if of == nil || string(of) == "null" {
		return nil
	}
	var all bool
	if json.Unmarshal(of, &all) == nil {
		for i := range s.memory {
			if all {
				clear(s.memory[i])
			}
		}
		return nil
	}
	var each []bool
	if err := json.Unmarshal(of, &each); err != nil || len(each) != len(s.memory) {
		return fmt.Errorf("want true, false, or a list of %d of them", len(s.memory))
	}
	for i, begins := range each {
		if begins {
			clear(s.memory[i])
		}
	}
	return nil
}

// session returns a session by its name, and notes that it is used; nil: there is none.
func (s *PolicyServer) session(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.sessions[id]
	if of != nil {
		of.used = time.Now()
	}
	return of
}

func (s *PolicyServer) open(w http.ResponseWriter, r *http.Request) {
	request := struct {
		Environments int `json:"environments"`
	}{1}
	if status, wrong := s.read(w, r, &request); status != 0 {
		answer(w, status, wrong)
		return
	}
	if n := request.Environments; n < 1 || n > s.config.MaxBatch {
		refuse(w, http.StatusBadRequest, "environments: %d; want 1 to %d", n, s.config.MaxBatch)
		return
	}
	begun := &session{memory: make([][]float64, request.Environments), used: time.Now()}
	begun.mu.Lock()
	defer begun.mu.Unlock()
	s.mu.Lock()
	environments := request.Environments
	for id, of := range s.sessions {
		if time.Since(of.used) > s.config.Idle {
			delete(s.sessions, id)
			continue
		}
		environments += len(of.memory)
	}
	full := len(s.sessions) >= s.config.MaxSessions || environments > maxShare*s.config.MaxBatch
	id := rand.Text()
	if !full {
		s.sessions[id] = begun
	}
	s.mu.Unlock()
	if full {
		refuse(w, http.StatusTooManyRequests, "too many sessions: want at most %d, of %d environments in all; DELETE /sessions/{id} ends one",
			s.config.MaxSessions, maxShare*s.config.MaxBatch)
		return
	}
	for i := range begun.memory { // only where there is room
		begun.memory[i] = make([]float64, s.actor.Memory())
	}
	answer(w, http.StatusCreated, map[string]any{"session": id, "environments": request.Environments})
}

func (s *PolicyServer) end(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s.mu.Lock()
	_, known := s.sessions[id]
	delete(s.sessions, id)
	s.mu.Unlock()
	if !known {
		refuse(w, http.StatusNotFound, "session %q: there is none", id)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
