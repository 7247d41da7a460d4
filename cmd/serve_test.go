package cmd

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/envs/vector"
)

// A run's policy is served with the actions that its export has, to this machine, until Ctrl-C.
func TestServe(t *testing.T) {
	b := newBox(t)
	b.must("run", "--out", "r", "--iterations", "2", "tiny.toml")
	b.must("export", "--member", "1", "--policy", "p.json", "r")
	cmd, _, errors := b.command("serve", "--member", "1", "r")
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
	url = strings.TrimSpace(url)
	post := func(host string) (status int, actions []int) {
		t.Helper()
		r, err := http.NewRequest("POST", url+"/act", bytes.NewReader([]byte(`{"obs": [[0, 0, 0.1, 0.5], [0, 0, -0.1, -0.5]]}`)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if host != "" {
			r.Host = host
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var got struct{ Actions []int }
		if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, got.Actions
	}
	if status, actions := post(""); status != http.StatusOK || len(actions) != 2 || slices.Min(actions) < 0 || slices.Max(actions) > 1 {
		t.Errorf("status %d, actions %v", status, actions)
	}
	if status, _ := post("elsewhere.example"); status != http.StatusForbidden {
		t.Errorf("by another name: status %d", status)
	}
	answer, err := http.Get(url + "/spec")
	if err != nil {
		t.Fatal(err)
	}
	var spec, policy map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&spec); err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if err := json.Unmarshal([]byte(b.read("p.json")), &policy); err != nil {
		t.Fatal(err)
	}
	for _, fact := range []string{"digest", "iteration", "member", "workflow", "env"} {
		if spec[fact] != policy[fact] {
			t.Errorf("%s: %v; the export has %v", fact, spec[fact], policy[fact])
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v\n%s", err, errors)
	}
}

// Environments are served to a program until its output ends.
func TestServeEnvironments(t *testing.T) {
	b := newBox(t)
	cmd, out, errors := b.command("serve", "--env", "Pendulum-v1", "--num-envs", "3", "--set", "environment.time_limit=2")
	request := binary.LittleEndian.AppendUint32(nil, vector.CommandReset)
	request = binary.LittleEndian.AppendUint32(request, 7)
	for range 2 {
		request = binary.LittleEndian.AppendUint32(request, vector.CommandStep)
		request = append(request, make([]byte, 4+4*3)...)
	}
	cmd.Stdin = bytes.NewReader(request)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errors)
	}
	line, answers, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	var hello vector.Hello
	if err := json.Unmarshal(line, &hello); err != nil || hello.Environments != 3 || hello.TimeLimit != 2 {
		t.Fatalf("%v, %s", err, line)
	}
	if want := 8 + 4*3*3 + 2*(8+4*3*(3+1)+3); len(answers) != want {
		t.Fatalf("%d bytes of answers; want %d", len(answers), want)
	}
	if flags := answers[len(answers)-3:]; !bytes.Equal(flags, []byte{2, 2, 2}) {
		t.Errorf("flags %v after the time limit; want all truncated", flags)
	}
}

// A run learns in the worlds of evorl's own server of dm_env_rpc, until Ctrl-C ends it; the run is known without the server, and another one is refused.
func TestServeRPC(t *testing.T) {
	b := newBox(t)
	cmd, _, errors := b.command("serve", "--env", "CartPole-v1", "--protocol", "dm_env_rpc", "--set", "environment.time_limit=50")
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	name, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, errors)
	}
	b.write("rpc.toml", "workflow = \"ppo\"\nenv = \""+strings.TrimSpace(name)+"\"\niterations = 2\n[environment]\ntime_limit = 50\n"+
		"[dm_env_rpc]\nseed = \"seed\"\n[ppo]\nenvironments = 4\nrollout_length = 16\n[network]\nhidden = [4]\n[evaluation]\nepisodes = 2\nbest_episodes = 0\n")
	if mean, ok := b.object(b.must("run", "-q", "--json", "--out", "r", "rpc.toml"))["mean_return"].(float64); !ok || mean < 5 || mean > 50 {
		t.Errorf("mean return %v; want 5 to 50 steps", mean)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v\n%s", err, errors)
	}
	if text := b.must("inspect", "r"); !strings.Contains(text, "dm_env_rpc://") {
		t.Error(text)
	}
	for _, args := range []string{"run -q --out other rpc.toml", "eval r"} {
		if _, stderr, status := b.run(strings.Fields(args)...); status != statusFailed && status != statusUsage || !strings.Contains(stderr, "connection refused") {
			t.Errorf("%s without the server: status %d\n%s", args, status, stderr)
		}
	}
}

// Wrong flags are refused before a device is opened.
func TestServeFlags(t *testing.T) {
	b := newBox(t)
	for _, c := range []struct{ args, want string }{
		{"--host 0.0.0.0 r", "want --expose too"},
		{"--host :: r", "want --expose too"},
		{"--host elsewhere.example r", "want an address"},
		{"--port 70000 r", "want 0 to 65535"},
		{"--episodes 0 r", "--episodes 0"},
		{"", "want one RUN_DIR, or --env ENV"},
		{"--env CartPole-v1 r", "want one of the two"},
		{"--env CartPole-v1 --port 1", "--port is of a policy"},
		{"--shared 0 r", "want 1 to 65536 rows"},
		{"--shared 4 --port 1 r", "--port is of HTTP"},
		{"--env CartPole-v1 --shared 4", "--shared is of a policy"},
		{"--env CartPole-v1 --num-envs 0", "want 1 to 1048576"},
		{"--env CartPole-v1 --autoreset never", "next_step"},
		{"--env CartPoll-v1", "CartPole-v1"},
		{"--env sphere", "is a problem"},
		{"--num-envs 3 r", "--num-envs without --env"},
		{"--protocol dm_env_rpc r", "--protocol without --env"},
		{"--env CartPole-v1 --protocol json", "want vector or dm_env_rpc"},
		{"--env CartPole-v1 --protocol dm_env_rpc --host 0.0.0.0", "want --expose too"},
		{"--env CartPole-v1 --protocol dm_env_rpc --num-envs 0", "want 1 to 4096"},
		{"--env CartPole-v1 --protocol dm_env_rpc --autoreset same_step", "it has its own"},
		{"--env CartPole-v1 --protocol dm_env_rpc --draw", "--draw is of a policy"},
	} {
		if _, stderr, status := b.run(append([]string{"serve"}, strings.Fields(c.args)...)...); status != statusUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("serve %s: status %d\n%s; want %q", c.args, status, stderr, c.want)
		}
	}
}
