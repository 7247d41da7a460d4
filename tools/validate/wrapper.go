package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// features are the layer's settings for each mode.
var features = map[string]string{
	// Also across submissions, which only the settings file can enable.
	modeSync: "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT",
	modeGPU:  "VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT,VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT",
}

// settings is the layer's settings file.
func settings(mode, log string) string {
	return fmt.Sprintf("khronos_validation.enables = %s\nkhronos_validation.report_flags = error,warn\n"+
		"khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG\nkhronos_validation.log_filename = %s\n", features[mode], log)
}

// wrap runs a test binary with the layer on. Its exit status is the binary's, or 1 if the layer reported a message.
func wrap(ctx context.Context, mode string, command []string, stdout, stderr io.Writer) int {
	if len(command) == 0 || features[mode] == "" {
		fmt.Fprintf(stderr, "validate: %s=%s with command %q\n", wrapperEnv, mode, command)
		return 2
	}
	dir, err := os.MkdirTemp("", "evorl-validate-")
	if err != nil {
		fmt.Fprintln(stderr, "validate:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	log, err := openLog(filepath.Join(dir, "log"))
	if err != nil {
		fmt.Fprintln(stderr, "validate:", err)
		return 1
	}
	file := filepath.Join(dir, "vk_layer_settings.txt")
	if err := os.WriteFile(file, []byte(settings(mode, log.name)), 0o644); err != nil {
		fmt.Fprintln(stderr, "validate:", err)
		return 1
	}
	test := exec.CommandContext(ctx, command[0], command[1:]...)
	test.Env = append(os.Environ(), "VK_INSTANCE_LAYERS="+layer, "VK_LAYER_SETTINGS_PATH="+file, wrapperEnv+"=")
	if mode == modeGPU {
		test.Env = append(test.Env, "EVORL_EXACT_BUFFERS=1")
	}
	test.Stdout, test.Stderr = stdout, stderr
	code := exitStatus(test.Run(), stderr)
	text, err := log.close()
	if err != nil {
		fmt.Fprintln(stderr, "validate:", err)
		return max(code, 1)
	}
	if messages := parse(text); len(messages) > 0 {
		fmt.Fprintf(stdout, "validate: the layer reported %d messages:\n%s\n", len(messages), strings.Join(messages, "\n"))
		return max(code, 1)
	}
	return code
}

// pipeLog collects the output of any number of processes from a named pipe.
type pipeLog struct {
	name string
	file *os.File
	text chan string
}

func openLog(name string) (*pipeLog, error) {
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		return nil, fmt.Errorf("making the pipe %s: %w", name, err)
	}
	// Open for writing too, so that the pipe does not end when no process has it open.
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	l := &pipeLog{name: name, file: f, text: make(chan string, 1)}
	go func() {
		var text strings.Builder
		buf := make([]byte, 64<<10)
		for {
			n, err := f.Read(buf)
			got := string(buf[:n])
			if before, _, found := strings.Cut(got, end); found {
				text.WriteString(before)
				break
			}
			text.WriteString(got)
			if err != nil {
				break
			}
		}
		l.text <- text.String()
	}()
	return l, nil
}

// end marks the end of the log, so that everything written before is read.
const end = "\x00"

func (l *pipeLog) close() (string, error) {
	defer l.file.Close()
	if _, err := l.file.WriteString(end); err != nil {
		return "", fmt.Errorf("ending the log %s: %w", l.name, err)
	}
	return <-l.text, nil
}

// parse returns the distinct messages of a log, each with its count.
func parse(text string) []string {
	var order []string
	count := map[string]int{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.Contains(line, "VUID") && !strings.Contains(line, "SYNC-HAZARD") &&
			!strings.Contains(line, "Validation ") && !strings.Contains(line, "UNASSIGNED") {
			continue
		}
		if count[line]++; count[line] == 1 {
			order = append(order, line)
		}
	}
	for i, line := range order {
		if n := count[line]; n > 1 {
			order[i] = fmt.Sprintf("%s (%d times)", line, n)
		}
	}
	return order
}
