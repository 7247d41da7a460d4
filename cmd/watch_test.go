package cmd

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// The page of a run has its lineage and an episode of its newest checkpoint, and ends with Ctrl-C; run --watch says where its page is.
func TestWatch(t *testing.T) {
	b := newBox(t)
	_, stderr, status := b.run("run", "--watch", "--out", "r", "--iterations", "8", "tiny.toml")
	if status != 0 || !strings.Contains(stderr, "\npage http://127.0.0.1:") {
		t.Fatalf("status %d\n%s; want the page's address", status, stderr)
	}
	cmd, _, errors := b.command("watch", "r")
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, errors)
	}
	for path, want := range map[string]string{
		"": "Newest episode", "run.json": `"lineage":true,"episodes":true,"checkpoint":8`, "lineage.svg": "Learning rate", "episode.html": "CartPole-v1",
		"members.json": `"hyper/learning_rate"`,
	} {
		answer, err := http.Get(strings.TrimSpace(url) + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: status %d, %v, %d bytes; want %q", path, answer.StatusCode, err, len(body), want)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its status says how it ended
	if status := cmd.ProcessState.ExitCode(); status != 0 && status != statusSignal+2 {
		t.Errorf("status %d after Ctrl-C\n%s", status, errors)
	}
	if _, stderr, status := b.run("watch", "--port", "70000", "r"); status != statusUsage || !strings.Contains(stderr, "want 0 to 65535") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}
