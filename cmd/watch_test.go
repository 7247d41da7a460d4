package cmd

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
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

// Hundreds of idle connections to the page neither end a run that may have few descriptors nor reach its standard error.
func TestIdleConnections(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("watch keeps to the limit of descriptors that Linux reports")
	}
	b := newBox(t)
	cmd, stdout, _ := b.command("run", "--watch", "--json", "--log-format", "json", "--out", "r", "--iterations", "400", "tiny.toml")
	cmd.Stderr = nil
	limited := exec.Command("sh", append([]string{"-c", `ulimit -n 96; exec "$0" "$@"`}, cmd.Args...)...)
	limited.Dir, limited.Env, limited.Stdout = cmd.Dir, cmd.Env, stdout
	pipe, err := limited.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := limited.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(2*time.Minute, func() { _ = limited.Process.Kill() }).Stop()
	var told strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		told.WriteString(lines.Text() + "\n")
		_, address, ok := strings.Cut(lines.Text(), `"url":"http://`)
		if !ok {
			continue
		}
		address, _, _ = strings.Cut(address, "/")
		for range 300 {
			c, err := net.DialTimeout("tcp", address, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
		answer, err := http.Get("http://" + address)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	if err := limited.Wait(); err != nil || b.object(stdout.String())["iterations"] != 400. {
		t.Errorf("%v\n%s%s", err, stdout, &told)
	}
	if strings.Contains(told.String(), "http: ") || strings.Contains(told.String(), "too many open files") {
		t.Errorf("standard error:\n%s", &told)
	}
}
