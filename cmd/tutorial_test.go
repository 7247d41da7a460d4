package cmd

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// step is a file or a command of the tutorial.
type step struct {
	file, text string // text of a file, or
	line       string // a line for the shell
}

var (
	mentioned = regexp.MustCompile("`([^`]+)`")
	fileName  = regexp.MustCompile(`^[\w/]+\.(?:toml|glsl|svg|html|onnx)$`)
)

// tutorial returns the files and commands of a page in order: blocks of TOML and GLSL, whose name is the last one that the prose before them mentions;
// lines of blocks that begin with a command; and commands with arguments in the prose. Other blocks are output. named are the files that the prose mentions.
func tutorial(t *testing.T, page string) (steps []step, named []string) {
	t.Helper()
	parts := strings.Split(page, "```")
	for i, part := range parts {
		if i%2 == 0 {
			for _, m := range mentioned.FindAllStringSubmatch(part, -1) {
				if fileName.MatchString(m[1]) {
					named = append(named, m[1])
				} else if words := strings.Fields(m[1]); words[0] == "evorl" && len(words) > 2 {
					steps = append(steps, step{line: m[1]})
				}
			}
			continue
		}
		kind, text, _ := strings.Cut(part, "\n")
		switch kind {
		case "toml", "glsl":
			if len(named) == 0 || !strings.HasSuffix(named[len(named)-1], "."+kind) {
				t.Fatalf("no name of a file before a block of %s:\n%s", kind, text)
			}
			steps = append(steps, step{file: named[len(named)-1], text: text})
		case "":
			if first, _, _ := strings.Cut(text, " "); slices.Contains([]string{"evorl", "go"}, first) {
				for line := range strings.Lines(text) {
					steps = append(steps, step{line: strings.TrimSpace(line)})
				}
			}
		default:
			t.Fatalf("a block of %q, which is neither a file nor a command:\n%s", kind, text)
		}
	}
	return steps, named
}

// The tutorial's commands run as they stand, in an empty folder and in their order, but for a few iterations, with the files that it shows; and the files
// that it mentions are there then.
func TestTutorial(t *testing.T) {
	b := ownBox(t)
	page, err := os.ReadFile("../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	evorl, err := program()
	if err != nil {
		t.Fatal(err)
	}
	b.dir = t.TempDir()
	folder := t.TempDir()
	if err := os.Symlink(evorl, folder+"/evorl"); err != nil {
		t.Fatal(err)
	}
	b.env = []string{"PATH=" + folder + string(os.PathListSeparator) + os.Getenv("PATH")}
	steps, named := tutorial(t, string(page))
	for _, s := range steps { // a file may be shown after the command that takes it
		if s.file != "" {
			b.write(s.file, strings.ReplaceAll(s.text, `"iterations=50"`, `"iterations=2"`))
		}
	}
	if sweep := string(b.read("rates.toml")); !strings.Contains(sweep, "iterations=2") {
		t.Errorf("rates.toml has other iterations than 50, which this test reduces:\n%s", sweep)
	}
	ran := map[string]int{}
	for _, s := range steps {
		words := strings.Fields(s.line)
		switch {
		case s.file != "":
		case s.line == "go install ./cmd/evorl": // program has built it
			if _, err := os.Stat("../cmd/evorl"); err != nil {
				t.Error(err)
			}
		case strings.HasPrefix(s.line, "export PATH="):
		case words[0] != "evorl":
			t.Errorf("%q is no command that this test knows", s.line)
		case words[1] == "watch":
			b.watch(s.line)
			ran[words[1]]++
		default:
			line := s.line
			switch {
			case words[1] != "run":
			case slices.Contains(words, "--from"): // a run of three
				line += " --iterations 4"
			case slices.Contains(words, "--resume"):
				line += " --iterations 3"
			default:
				line += " --iterations 2"
			}
			cmd := b.shell(line)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", s.line, err, out)
			}
			ran[words[1]]++
		}
	}
	for _, name := range []string{"devices", "init", "run", "eval", "plot", "view", "watch", "compare", "sweep", "export"} {
		if ran[name] == 0 {
			t.Errorf("no evorl %s was found in the tutorial", name)
		}
	}
	for _, name := range named {
		if _, err := os.Stat(b.path(name)); err != nil {
			t.Errorf("the tutorial mentions %s, which its commands do not make: %v", name, err)
		}
	}
}

// shell prepares a line for the shell; it is killed after two minutes.
func (b *box) shell(line string) *exec.Cmd {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	b.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = b.dir, append(os.Environ(), b.env...), 2*time.Second
	return cmd
}

// watch runs a line that serves a page until Ctrl-C, and ends it when it has told its address.
func (b *box) watch(line string) {
	b.t.Helper()
	cmd := b.shell("exec " + line)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	if url, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(url, "http://127.0.0.1:") {
		b.t.Errorf("%s: %q, %v\n%s", line, url, err, &errors)
	}
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself, with an error
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 0 && status != statusSignal+2 {
		b.t.Errorf("%s: status %d after Ctrl-C\n%s", line, status, &errors)
	}
}
