package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/rundir"
)

// follow serves a run directory of files and returns how to get a page of it.
func follow(t *testing.T, s Source, files map[string]string) (get func(path string) (status int, body string)) {
	t.Helper()
	s.Path = t.TempDir()
	for name, text := range files {
		path := filepath.Join(s.Path, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server, err := Serve(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return func(path string) (int, string) {
		t.Helper()
		answer, err := http.Get(server.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
}

func TestPage(t *testing.T) {
	get := follow(t, Source{Title: "ppo on CartPole-v1", Total: 40, Priority: "return"}, map[string]string{
		"metrics.jsonl": `{"iteration":1,"env_steps":8,"seconds":0.5,"return/median":"NaN","loss/actor":1}
{"iteration":2,"env_steps":16,"seconds":1,"return/median":3}
{"iteration":3,"env_st`,
		"members.jsonl": `{"iteration":1,"env_steps":8,"seconds":0.5,"return/0":1,"return/10":2,"evaluation/10":9}
{"iteration":2,"env_steps":16,"seconds":1,"return/0":4}
`,
		"lineage.jsonl": `{"iteration":1,"env_steps":0,"seconds":0,"member":0,"parent":0,"fitness":"NaN","hyper/rate":0.5}
{"iteration":2,"env_steps":0,"seconds":0,"member":0,"parent":10,"fitness":7,"hyper/rate":0.25}
`,
		rundir.ProvenanceFile: `{"sessions":[{},{"workers":[{"device":"GPU","slices":3},{"name":"w","slices":2}],"divides":"members"}]}`,
	})
	status, page := get("")
	if status != http.StatusOK || !strings.Contains(page, `src="page.js"`) {
		t.Errorf("status %d\n%s", status, page)
	}
	_, script := get("page.js")
	// What comes from elsewhere would begin with a scheme or two slashes in quotes.
	if found := regexp.MustCompile(`["'(](https?:)?//`).FindString(page + script); found != "" {
		t.Errorf("the page has a resource of elsewhere: %s", found)
	}
	var run runData
	_, text := get("run.json")
	if err := json.Unmarshal([]byte(text), &run); err != nil || run.Title != "ppo on CartPole-v1" || run.Iterations != 40 || run.Lineage || run.Episodes ||
		run.Checkpoint != 0 || len(run.Workers) != 2 || run.Workers[1].Slices != 2 || run.Divides != rundir.Members {
		t.Errorf("%s, %v", text, err)
	}
	_, text = get("metrics.json")
	if want := `{"iteration":[1,2],"env_steps":[8,16],"seconds":[0.5,1],"values":{"loss/actor":[1,null],"return/median":[null,3]}}`; text != want {
		t.Errorf("%s; want %s", text, want)
	}
	_, text = get("members.json")
	if want := `{"members":2,"columns":["member","evaluation","return","fitness","parent","hyper/rate"],` +
		`"rows":[[0,null,4,7,10,0.25],[10,9,2,null,null,null]]}`; text != want {
		t.Errorf("%s; want %s", text, want)
	}
	for _, path := range []string{"lineage.svg", "episode.html", "config.toml", "../metrics.jsonl"} {
		if status, _ := get(path); status != http.StatusNotFound {
			t.Errorf("%s: status %d; want 404", path, status)
		}
	}
}

// decoded is /metrics.json.
type decoded struct {
	Iteration []int64
	Values    map[string][]*float64
}

// A run that has just begun has no files yet; a long one is thinned, with all evaluations.
func TestPageOfFewAndOfManyRecords(t *testing.T) {
	get := follow(t, Source{}, nil)
	for path, want := range map[string]string{
		"metrics.json": `{"iteration":[],"env_steps":[],"seconds":[],"values":{}}`, "members.json": `{"members":0,"columns":["member"],"rows":[]}`,
	} {
		if status, text := get(path); status != http.StatusOK || text != want {
			t.Errorf("%s: status %d, %s; want %s", path, status, text, want)
		}
	}
	var long strings.Builder
	for i := 1; i <= 5000; i++ {
		fmt.Fprintf(&long, `{"iteration":%d,"env_steps":%d,"seconds":1,"return/mean":%d`, i, i, i)
		if i%1000 == 0 {
			long.WriteString(`,"evaluation/mean":5`)
		}
		long.WriteString("}\n")
	}
	get = follow(t, Source{}, map[string]string{"metrics.jsonl": long.String()})
	var data decoded
	if _, text := get("metrics.json"); json.Unmarshal([]byte(text), &data) != nil || len(data.Iteration) > mostPoints+5 ||
		data.Iteration[len(data.Iteration)-1] != 5000 {
		t.Errorf("%d points; want at most %d", len(data.Iteration), mostPoints+5)
	}
	evaluations := 0
	for _, x := range data.Values["evaluation/mean"] {
		if x != nil {
			evaluations++
		}
	}
	long.Reset()
	for i := 1; i <= 9000; i++ {
		fmt.Fprintf(&long, `{"iteration":%d,"env_steps":%d,"seconds":1,"evaluation/mean":5}`+"\n", i, i)
	}
	get = follow(t, Source{}, map[string]string{"metrics.jsonl": long.String()})
	var all decoded
	if _, text := get("metrics.json"); json.Unmarshal([]byte(text), &all) != nil || len(all.Iteration) > mostPoints+1 {
		t.Errorf("%d points of a run that evaluates in every iteration; want at most %d", len(all.Iteration), mostPoints+1)
	}
	if evaluations != 5 || len(data.Values["return/mean"]) != len(data.Iteration) {
		t.Errorf("%d evaluations; want 5", evaluations)
	}
}

// An episode is made once for each checkpoint, and not before there is one.
func TestEpisodes(t *testing.T) {
	made := 0
	failing := errors.New("no device")
	var fail error
	s := Source{Episode: func(_ context.Context, w io.Writer) error {
		made++
		fmt.Fprintf(w, "episode %d", made)
		return fail
	}}
	e := &episodes{make: s.Episode, path: t.TempDir()}
	if _, err := e.newest(); !errors.Is(err, errNothingYet) || made != 0 {
		t.Errorf("error %v, %d made; want none without a checkpoint", err, made)
	}
	save := func(step int64) {
		if err := os.MkdirAll(checkpoint.Path(filepath.Join(e.path, rundir.CheckpointsDir), step), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	save(5)
	fail = failing
	if _, err := e.newest(); !errors.Is(err, failing) {
		t.Errorf("error %v; want %v", err, failing)
	}
	fail = nil
	for range 2 {
		if page, err := e.newest(); err != nil || string(page) != "episode 2" {
			t.Errorf("%s, %v; want episode 2", page, err)
		}
	}
	save(9)
	if page, err := e.newest(); err != nil || string(page) != "episode 3" {
		t.Errorf("%s, %v; want a new one of the new checkpoint", page, err)
	}
	e.close()
	if _, err := e.newest(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end; want %v", err, context.Canceled)
	}
}

// Pages of other sites, by name or by method, get nothing.
func TestOthersAreRefused(t *testing.T) {
	server, err := Serve(Source{Path: t.TempDir()}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if !strings.HasPrefix(server.URL(), "http://127.0.0.1:") {
		t.Errorf("it answers at %s; want the loopback interface", server.URL())
	}
	for _, c := range []struct {
		method, host string
		want         int
	}{
		{http.MethodGet, "localhost:80", http.StatusOK}, {http.MethodGet, "127.0.0.1", http.StatusOK},
		{http.MethodGet, "example.org", http.StatusForbidden}, {http.MethodGet, "example.org:80", http.StatusForbidden},
		{http.MethodGet, "127.0.0.1.example.org:80", http.StatusForbidden}, {http.MethodPost, "localhost:80", http.StatusMethodNotAllowed},
		{http.MethodDelete, "localhost:80", http.StatusMethodNotAllowed},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, server.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s of %s: status %d; want %d", c.method, c.host, answer.StatusCode, c.want)
		}
		if policy := answer.Header.Get("Content-Security-Policy"); c.want == http.StatusOK && !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("policy %q", policy)
		}
	}
	if again, err := Serve(Source{}, portOf(t, server)); err == nil {
		again.Close()
		t.Error("two pages on one port")
	}
}

func portOf(t *testing.T, s *Server) (port int) {
	t.Helper()
	if _, err := fmt.Sscanf(s.URL(), "http://127.0.0.1:%d/", &port); err != nil {
		t.Fatal(err)
	}
	return port
}

// What is read of a file is what is new, once for all readers: their requests neither allocate what the file takes nor parse most of its lines.
func TestReadersShare(t *testing.T) {
	path := t.TempDir()
	var b strings.Builder
	const records, metrics = 20_000, 40
	for i := 1; i <= records; i++ {
		fmt.Fprintf(&b, `{"iteration":%d,"env_steps":%d,"seconds":1`, i, i)
		for k := range metrics {
			fmt.Fprintf(&b, `,"loss/of_part_%d":%d.125`, k, i+k)
		}
		b.WriteString("}\n")
	}
	file := filepath.Join(path, rundir.MetricsFile)
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	c := newCurves(path)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var readers sync.WaitGroup
	for range 6 {
		readers.Go(func() {
			if text, err := c.newest(); err != nil || !strings.Contains(string(text), fmt.Sprint(records)) {
				t.Errorf("%v, %d bytes", err, len(text))
			}
		})
	}
	readers.Wait()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(4*b.Len()) { // parsing all of it once takes ten times its size
		t.Errorf("six readers allocated %d bytes for a file of %d", took, b.Len())
	}
	if n := len(c.points); n > mostPoints || n < mostPoints/2 {
		t.Errorf("%d points are kept; want %d to %d", n, mostPoints/2, mostPoints)
	}
	c.of = c.of.Add(-fresh)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, `{"iteration":%d,"env_steps":1,"seconds":1,"new":7}`+"\n", records+1)
	f.Close()
	runtime.ReadMemStats(&before)
	if text, err := c.newest(); err != nil || !strings.Contains(string(text), `,7]`) || c.lines.count != records+1 {
		t.Errorf("%v: the new line is missing", err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 {
		t.Errorf("one more line allocated %d bytes", took)
	}
	c.of = c.of.Add(-fresh)
	if err := os.WriteFile(file, []byte(`{"iteration":1,"env_steps":1,"seconds":1,"x":1}`+"\n"), 0o644); err != nil { // a run that began again
		t.Fatal(err)
	}
	if text, err := c.newest(); err != nil || string(text) != `{"iteration":[1],"env_steps":[1],"seconds":[1],"values":{"x":[1]}}` {
		t.Errorf("%.200s, %v", text, err)
	}
}

// The table has the best of more members than anybody can read, by the column that is asked for.
func TestManyMembers(t *testing.T) {
	var line strings.Builder
	line.WriteString(`{"iteration":1,"env_steps":1,"seconds":1`)
	for m := range mostRows + 500 {
		fmt.Fprintf(&line, `,"return/%d":%d,"loss/%d":%d`, m, m, m, -m)
	}
	line.WriteString("}\n")
	get := follow(t, Source{}, map[string]string{"members.jsonl": line.String()})
	for query, want := range map[string]string{"": "[1499,1499,-1499],", "?by=return": "[1499,1499,-1499],", "?by=loss": "[0,0,0],[1,1,-1],"} {
		_, text := get("members.json" + query)
		if !strings.HasPrefix(text, `{"members":1500,"columns":["member","return","loss"],"rows":[`+want) || strings.Count(text, "],[") != mostRows-1 {
			t.Errorf("%q: %.120s, %d rows", query, text, strings.Count(text, "],[")+1)
		}
	}
}

// A lineage that is too long to be drawn beside a run is refused with the command that draws it.
func TestLongLineage(t *testing.T) {
	s := Source{Lineage: func(io.Writer) error { t.Error("drawn"); return nil }}
	get := follow(t, s, map[string]string{"lineage.jsonl": strings.Repeat("\n", maxLineage+1)})
	if status, text := get("lineage.svg"); status != http.StatusInternalServerError || !strings.Contains(text, "evorl plot --lineage ") {
		t.Errorf("status %d, %s", status, text)
	}
}
