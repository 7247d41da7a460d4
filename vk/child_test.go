package vk

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Some tests need a process of their own. The test binary runs itself, with childEnv naming the function to run.
const childEnv = "EVORL_VK_TEST_CHILD"

// children are the functions that a child process can run.
var children = map[string]func() error{}

// child is the main function of a child process.
func child() int {
	if err := children[os.Getenv(childEnv)](); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// runChild runs a child with additional environment variables, and returns its output.
func runChild(t *testing.T, name string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+name), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
