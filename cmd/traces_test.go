package cmd

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// span is what a collector is told.
type span struct {
	service, name, id, parent, trace string
	values                           map[string]int64
	texts                            map[string]string
}

// collected is a collector of OpenTelemetry.
type collected struct {
	*httptest.Server
	mu    sync.Mutex
	spans []span
	wrong []error
}

func newCollected(t *testing.T) *collected {
	c := &collected{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var of collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &of)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil {
			c.wrong = append(c.wrong, err)
		}
		for _, from := range of.ResourceSpans {
			service := ""
			for _, a := range from.Resource.Attributes {
				if a.Key == "service.name" {
					service = a.Value.GetStringValue()
				}
			}
			for _, scope := range from.ScopeSpans {
				for _, s := range scope.Spans {
					got := span{service, s.Name, hex.EncodeToString(s.SpanId), hex.EncodeToString(s.ParentSpanId), hex.EncodeToString(s.TraceId), map[string]int64{},
						map[string]string{}}
					for _, a := range s.Attributes {
						got.values[a.Key], got.texts[a.Key] = a.Value.GetIntValue(), a.Value.GetStringValue()
					}
					c.spans = append(c.spans, got)
				}
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// A run and its worker tell a collector of their iterations, evaluations, checkpoints and slices, in one trace.
func TestTraces(t *testing.T) {
	c, b := newCollected(t), newBox(t)
	b.env = append(b.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	b.write("openes.toml", "workflow = \"openes\"\nenv = \"CartPole-v1\"\niterations = 60\n[openes]\npopulation = 64\n[search]\nslice = 8\n"+
		"[evaluation]\nevery = 20\nepisodes = 2\n[checkpoint]\nevery = 30\n[environment]\ntime_limit = 50\n")
	at := freeAddress(t)
	worker, _, said := b.command("worker", "nats://"+at)
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := b.run("run", "-q", "--cluster", "embed://"+at, "openes.toml")
	if err := worker.Wait(); err != nil || status != 0 {
		t.Fatalf("the run ends with %d, its worker with %v\n%s%s%s", status, err, stdout, stderr, said)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wrong) > 0 {
		t.Fatalf("the collector cannot read what it is sent: %v", c.wrong[0])
	}
	count, of := map[string]int{}, map[string]span{}
	for _, s := range c.spans {
		count[s.name]++
		of[s.id] = s
		if s.service != "evorl" || s.trace != c.spans[0].trace {
			t.Errorf("a span %q of service %q in trace %s; want evorl's, in trace %s", s.name, s.service, s.trace, c.spans[0].trace)
		}
	}
	for name, want := range map[string]int{"run": 1, "worker": 1, "iteration": 60, "evaluation": 3, "checkpoint": 2} {
		if count[name] != want {
			t.Errorf("%d spans %q; want %d (all: %v)", count[name], name, want, count)
		}
	}
	if n := count["slice"]; n < 60*8 { // some may be done twice
		t.Errorf("%d spans of slices; want one for each of 60 × 8 at least", n)
	}
	parents := map[string]string{"run": "", "worker": "run", "iteration": "run", "evaluation": "run", "checkpoint": "run", "slice": "run worker"}
	seen := map[int64]bool{}
	for _, s := range c.spans {
		if got := of[s.parent].name; !strings.Contains(parents[s.name], got) || got == "" && s.name != "run" {
			t.Errorf("a span %q belongs to %q; want %q", s.name, got, parents[s.name])
		}
		if s.name == "iteration" {
			seen[s.values["iteration"]] = true
		}
	}
	if len(seen) != 60 || !seen[1] || !seen[60] {
		t.Errorf("spans of iterations %v; want 1 to 60", seen)
	}
}

// Slices of members have spans of each of their iterations, evaluations and fitnesses, with who did it.
func TestTracesMembers(t *testing.T) {
	c, b := newCollected(t), newBox(t)
	b.env = append(b.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	b.write("pbt.toml", "workflow = \"pbt\"\nenv = \"CartPole-v1\"\niterations = 200\n[network]\nhidden = [4]\n[ppo]\nmembers = 3\nenvironments = 2\n"+
		"rollout_length = 8\nepochs = 1\nminibatches = 2\n[members]\nslice = 2\n[pbt]\nwarmup = 50\ninterval = 50\nepisodes = 2\n"+
		"[evaluation]\nevery = 100\nepisodes = 2\nbest_episodes = 0\n")
	at := freeAddress(t)
	worker, _, said := b.command("worker", "nats://"+at)
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status := b.run("run", "-q", "--cluster", "embed://"+at, "pbt.toml")
	if err := worker.Wait(); err != nil || status != 0 {
		t.Fatalf("the run ends with %d, its worker with %v\n%s%s%s", status, err, stdout, stderr, said)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	parents := map[string]string{}
	for _, s := range c.spans {
		parents[s.id] = s.name
	}
	count, done := map[string]int{}, map[[2]int64]bool{}
	for _, s := range c.spans {
		if s.name != "slice" {
			continue
		}
		from := "0 (" // under run or evaluation
		if parents[s.parent] == "worker" {
			from = fmt.Sprintf("-%d-", worker.Process.Pid)
		}
		if parents[s.parent] == "" || !strings.Contains(s.texts["worker"], from) || s.values["members"] != 2-s.values["first_member"]/2 {
			t.Errorf("a span under %q: %v, %v; want 2 members from 0 on, or 1 from 2 on, by one whose name has %q", parents[s.parent], s.texts, s.values, from)
		}
		if count[s.texts["work"]]++; s.texts["work"] == "iteration" {
			done[[2]int64{s.values["first_member"], s.values["iteration"]}] = true
		}
	}
	if len(done) != 400 || !done[[2]int64{0, 1}] || !done[[2]int64{2, 200}] || count["fitness"] < 2*3 || count["evaluation"] < 2*2 || len(count) != 3 {
		t.Errorf("spans of %d iterations, in all %v; want two slices in 200 iterations, with fitnesses and evaluations", len(done), count)
	}
}

// Without a collector at its address a run does what it would do, and says so once; what evorl cannot do is refused.
func TestTracesWithout(t *testing.T) {
	b := newBox(t)
	b.env = append(b.env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT=500")
	_, stderr, status := b.run("run", "-q", "tiny.toml")
	if n := strings.Count(stderr, "warning: traces: "); status != 0 || n != 1 {
		t.Errorf("without a collector a run ends with %d and %d warnings; want 0 and one:\n%s", status, n, stderr)
	}
	b.env = append(b.env, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	if _, stderr, status := b.run("list"); status != 2 || !strings.Contains(stderr, `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": want http/protobuf`) {
		t.Errorf("a protocol that evorl does not have ends with %d: %s", status, stderr)
	}
}
