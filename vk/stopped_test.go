//go:build unix

package vk

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is the time-out of the child of TestStopped, which is stopped for longer.
const patience = 4 * time.Second

func init() {
	children["stopped"] = func() error {
		d, err := Open(Timeout(patience), CacheDir(""))
		if err != nil {
			return err
		}
		defer d.Close()
		x, err := d.NewBuffer(4*slowWords, Local)
		if err != nil {
			return err
		}
		ctx := context.Background()
		begin := func(name string, steps int) (*Ticket, error) {
			p := d.NewProgram(name)
			p.Dispatch(spinCall(x.All(), steps))
			if err := p.Build(); err != nil {
				return nil, err
			}
			return p.Submit(ctx)
		}
		warm, err := begin("warm", 1) // the software driver compiles here
		if err == nil {
			err = warm.Wait(ctx)
		}
		if err != nil {
			return err
		}
		began := time.Now()
		slow, err := begin("slow", slowSteps(d))
		if err != nil {
			return err
		}
		fmt.Println("begun")
		if err := slow.Wait(ctx); err != nil {
			return err
		}
		fmt.Println(time.Since(began) > patience)
		return nil
	}
}

// A process that is stopped for longer than the time-out goes on waiting when it continues: a software driver had no time meanwhile.
func TestStopped(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=stopped")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if first, err := lines.ReadString('\n'); err != nil || first != "begun\n" {
		t.Fatalf("the child wrote %q, %v; want that it began, and %v", first, err, cmd.Wait())
	}
	signal := func(s syscall.Signal) {
		if err := cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	signal(syscall.SIGSTOP)
	time.Sleep(patience * 5 / 4)
	signal(syscall.SIGCONT)
	rest, err := io.ReadAll(lines)
	if end := cmd.Wait(); err != nil || end != nil {
		t.Fatalf("the continued process ended with %v, %v: %s", end, err, rest)
	}
	if strings.TrimSpace(string(rest)) != "true" {
		t.Errorf("the device had finished before the process was stopped: %s", rest)
	}
}
