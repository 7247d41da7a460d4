// Package watch serves a web page that follows a run: curves, members, the lineage of population based training, and the newest episode. It
// only reads the run directory, and answers on the loopback interface alone.
package watch

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"
)

//go:embed page.html
var pageHTML []byte

//go:embed page.js
var pageJS []byte

// Source is the run that a page follows. Its methods are called by several goroutines.
type Source struct {
	Path     string                                       // the run directory
	Title    string                                       // of the page
	Total    int                                          // iterations of the run
	Lineage  func(w io.Writer) error                      // writes the lineage as SVG; nil: the run has none
	Episode  func(ctx context.Context, w io.Writer) error // writes a page that plays an episode of the newest checkpoint; nil: it cannot be seen
	Priority string                                       // the metric that is drawn first
}

// Time limits of a connection. The page asks every three seconds.
const (
	requestTimeout = 5 * time.Second
	idleTimeout    = 30 * time.Second
	answerTimeout  = 30 * time.Second // except for episodes, which take as long as they need
)

// Server is a page on the loopback interface.
type Server struct {
	url      string
	server   *http.Server
	episodes *episodes
}

// Serve begins to answer on a port of the loopback interface; 0: any that is free. Close ends it.
func Serve(s Source, port int) (*Server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("page of the run: %w", err)
	}
	e := &episodes{make: s.Episode, path: s.Path}
	out := &Server{url: "http://" + listener.Addr().String() + "/", episodes: e}
	out.server = &http.Server{
		Handler: handler(s, e), ReadTimeout: requestTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0), ConnState: newConnections(mostConnections()).changed,
	}
	go func() { _ = out.server.Serve(listener) }() // it ends with Close
	return out, nil
}

// URL is the page's address.
func (s *Server) URL() string { return s.url }

// Close ends the page; an episode that is being made is given up.
func (s *Server) Close() error {
	s.episodes.close()
	return s.server.Close()
}

// handler answers requests of pages from this machine.
func handler(s Source, e *episodes) http.Handler {
	mux := http.NewServeMux()
	text := func(kind string, data []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write(data) // the browser is gone
		}
	}
	mux.HandleFunc("GET /{$}", text("text/html; charset=utf-8", pageHTML))
	mux.HandleFunc("GET /page.js", text("text/javascript; charset=utf-8", pageJS))
	mux.HandleFunc("GET /run.json", s.serveRun)
	mux.HandleFunc("GET /metrics.json", newCurves(s.Path).serve)
	mux.HandleFunc("GET /members.json", newMembers(s.Path).serve)
	mux.HandleFunc("GET /lineage.svg", (&picture{draw: s.Lineage, path: s.Path}).serve)
	mux.HandleFunc("GET /episode.html", e.serve)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A page of another site cannot read this one: neither by its address nor by a name that it has pointed to this machine.
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host // port 80 is not named
		}
		if host != "127.0.0.1" && host != "localhost" {
			http.Error(w, "want 127.0.0.1 or localhost", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data:; "+
			"connect-src 'self'; frame-src 'self'; frame-ancestors 'self'")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	})
}

// writeText answers with JSON, or says what went wrong.
func writeText(w http.ResponseWriter, text []byte, err error) {
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the browser is gone
}

func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, errNothingYet) {
		status = http.StatusNotFound
	}
	http.Error(w, err.Error(), status)
}

var errNothingYet = errors.New("nothing yet")
