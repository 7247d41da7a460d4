package vk

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Some tests need a process of their own: the test binary runs itself, with childEnv naming what to do.
const childEnv = "EVORL_VK_TEST_CHILD"

// children are what a child process can do.
var children = map[string]func() error{}

// child is the main function of a child process.
func child() int {
	if err := children[os.Getenv(childEnv)](); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// runChild runs a child with more environment variables, and returns its output.
func runChild(t *testing.T, name string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+name), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
