package bridge

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// program is the server that steps environments of Gymnasium's interface: atari.py, then server.py.
var program = append(slices.Clone(atariProgram), serverProgram...)

var (
	//go:embed server.py
	serverProgram []byte
	//go:embed atari.py
	atariProgram []byte
)

// Messages on the socket.
const (
	messageMap   = 1 // the shared memory is laid out
	messageReady = 2 // the environments are made
	messageGo    = 3 // do what the commands of a half say
	messageDone  = 4 // done, with so many failures
	messageClose = 5
)

// messageBytes is the size of a message: sequence u32, half u8, what u8, count u16.
const messageBytes = 8

const (
	mostHello = 64 << 20        // bytes of a server's first line
	grace     = 2 * time.Second // in which a server that was told to end does
	killDelay = 500 * time.Millisecond
	readTime  = 50 * time.Millisecond // in which an answer that has come is read
)

// server is a process that steps environments.
type server struct {
	layout
	command *exec.Cmd
	socket  net.Conn
	reader  *bufio.Reader
	file    *os.File
	memory  []byte
	halves  []halfView
	output  *tail
	exited  chan struct{} // closed when the process has ended and its group is killed
	status  error         // why, once exited is closed

	sequence uint32
	posted   [2]uint32    // sequence of the last message to each half; 0: there is none, or its answer is taken over
	since    [2]time.Time // when the server could begin with that
	answered [2]bool      // the answer has come while the other half's was waited for
	count    [2]int       // of that answer
	dropped  bool         // its end was noticed
}

// start starts a server process, whose first environment is numbered first, and reads its Hello. Its environments are not made before makeAll.
func start(ctx context.Context, name string, cfg Config, first int) (s *server, hello *Hello, err error) {
	if cfg, err = cfg.here(); err != nil {
		return nil, nil, fmt.Errorf("the server of %q: %w", name, err)
	}
	s = &server{output: &tail{}, exited: make(chan struct{})}
	theirs, err := s.open()
	if err != nil {
		return nil, nil, fmt.Errorf("bridge: %w", err)
	}
	arguments, err := s.commandLine(name, cfg, theirs)
	if err == nil {
		err = s.launch(arguments, name, cfg, first, theirs)
	}
	for _, f := range theirs.files() {
		_ = f.Close() // the process has its own
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.free())
	}
	line, err := s.firstLine(ctx, cfg)
	if err == nil {
		hello, err = parseHello(line)
	}
	if err != nil {
		s.kill()
		return nil, nil, errors.Join(fmt.Errorf("the server of %q: %w%s", name, err, s.said()), s.free())
	}
	return s, hello, nil
}

// inherited is what a server process gets.
type inherited struct{ socket, memory, program *os.File }

func (i inherited) files() (all []*os.File) {
	for _, f := range []*os.File{i.socket, i.memory, i.program} {
		if f != nil {
			all = append(all, f)
		}
	}
	return all
}

// The numbers of inherited files in a server process.
const (
	socketNumber  = 3
	memoryNumber  = 4
	programNumber = 5
)

// commandLine returns what runs the server of a name.
func (s *server) commandLine(name string, cfg Config, theirs inherited) ([]string, error) {
	if of, ok := strings.CutPrefix(name, "exec:"); ok {
		if path := filepath.FromSlash(of); !filepath.IsAbs(path) && strings.ContainsRune(of, '/') {
			of = filepath.Join(cfg.Folder, path)
		}
		return []string{of}, nil
	}
	if _, err := theirs.program.WriteAt(program, 0); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	return []string{cfg.Python, fmt.Sprintf("/dev/fd/%d", programNumber), name}, nil
}

// launch starts the process, in a group of its own that ends with it.
func (s *server) launch(arguments []string, name string, cfg Config, first int, theirs inherited) error {
	s.command = exec.Command(arguments[0], arguments[1:]...)
	s.command.Dir, s.command.Stdout, s.command.Stderr, s.command.WaitDelay = cfg.Folder, s.output, s.output, killDelay
	s.command.ExtraFiles = theirs.files()
	s.command.Env = append(os.Environ(), fmt.Sprintf("EVORL_BRIDGE_VERSION=%d", Version), fmt.Sprintf("EVORL_BRIDGE_SOCKET=%d", socketNumber),
		fmt.Sprintf("EVORL_BRIDGE_FILE=%d", memoryNumber), fmt.Sprintf("EVORL_BRIDGE_FIRST=%d", first),
		"EVORL_BRIDGE_ENV="+name, "EVORL_BRIDGE_ARGUMENTS="+cfg.Arguments, "EVORL_BRIDGE_ATARI="+cfg.Atari.String())
	asGroup(s.command)
	started := make(chan error)
	go func() { // in a goroutine of its own, whose thread lives on: the process ends with the thread that began it
		err := s.command.Start()
		started <- err
		if err != nil {
			return
		}
		s.status = s.command.Wait()
		killGroup(s.command)
		close(s.exited)
	}()
	err := <-started
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		s.command = nil
		if strings.HasPrefix(name, "exec:") {
			return fmt.Errorf("%s: there is no such program in %s; want the path of a server, relative to [bridge] folder", arguments[0], cfg.Folder)
		}
		return fmt.Errorf("%s: there is no such Python; want one with what %q needs, as [bridge] python: python3 -m venv gym && gym/bin/pip install gymnasium, "+
			"and python = \"gym/bin/python\"", arguments[0], name)
	}
	s.command = nil
	return fmt.Errorf("%s: %w", arguments[0], err)
}

// firstLine reads the server's first line.
func (s *server) firstLine(ctx context.Context, cfg Config) ([]byte, error) {
	defer s.limit(ctx, cfg.StartTimeout)()
	s.reader = bufio.NewReader(io.LimitReader(s.socket, mostHello))
	line, err := s.reader.ReadBytes('\n')
	s.reader = bufio.NewReader(s.socket)
	return line, s.explain(ctx, err, cfg.StartTimeout, "said what it steps")
}

// limit makes reads end after a time, or with the context, until its result is called.
func (s *server) limit(ctx context.Context, timeout time.Duration) (done func()) {
	return s.until(ctx, time.Now().Add(timeout))
}

// latest is when the answer to a half's message must have come. Servers are waited for one after the other, while all of them work: the time counts from when
// the server could begin. What has come meanwhile is still read.
func (s *server) latest(half int, timeout time.Duration) time.Time {
	end, soon := s.since[half].Add(timeout), time.Now().Add(readTime)
	if end.Before(soon) {
		return soon
	}
	return end
}

// until makes reads end at a time, or with the context, until its result is called.
func (s *server) until(ctx context.Context, end time.Time) (done func()) {
	_ = s.socket.SetReadDeadline(end) // a socket that is closed fails at the read
	stop := context.AfterFunc(ctx, func() { _ = s.socket.SetReadDeadline(time.Unix(1, 0)) })
	return func() { stop() }
}

// explain makes the error of a read one of what the server has not done.
func (s *server) explain(ctx context.Context, err error, timeout time.Duration, done string) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("it has not %s in %v", done, timeout)
	}
	select { // the end of the process explains the end of its socket
	case <-s.exited:
		if s.status == nil {
			return fmt.Errorf("it ended before it had %s", done)
		}
		return fmt.Errorf("it ended before it had %s (%w)", done, s.status)
	case <-time.After(killDelay):
		return fmt.Errorf("it closed its socket before it had %s", done)
	}
}

// said is what the process wrote last, for an error.
func (s *server) said() string {
	if text := s.output.text(); text != "" {
		return "\n" + text
	}
	return ""
}

// makeAll lays out the shared memory and waits until the server has made its environments.
func (s *server) makeAll(ctx context.Context, cfg Config, hello *Hello, of portion) error {
	s.layout = newLayout(hello, of)
	var err error
	if s.memory, err = s.share(s.layout.total); err != nil {
		return fmt.Errorf("bridge: %d bytes of shared memory: %w", s.layout.total, err)
	}
	s.layout.write(s.memory)
	for _, h := range s.layout.halves {
		s.halves = append(s.halves, s.view(s.memory, h))
	}
	defer s.limit(ctx, cfg.StartTimeout)()
	if err := s.send(0, messageMap); err != nil {
		return s.explain(ctx, err, cfg.StartTimeout, "made its environments")
	}
	_, err = s.receive(0, messageReady)
	return s.explain(ctx, err, cfg.StartTimeout, "made its environments")
}

// send sends a message.
func (s *server) send(half int, what byte) error {
	s.sequence++
	message := binary.LittleEndian.AppendUint32(nil, s.sequence)
	message = append(message, byte(half), what, 0, 0)
	s.posted[half], s.since[half], s.answered[half] = s.sequence, time.Now(), false
	_, err := s.socket.Write(message)
	return err
}

// answerError is a message that does not fit.
type answerError struct{ text string }

func (e *answerError) Error() string { return e.text }

// receive waits for the answer to a half's message and returns its count. The other half's may come before.
func (s *server) receive(half int, what byte) (count int, err error) {
	for !s.answered[half] {
		if err := s.next(half, what); err != nil {
			return 0, err
		}
	}
	s.posted[half], s.answered[half] = 0, false
	return s.count[half], nil
}

// next reads an answer while one to a half's message is waited for.
func (s *server) next(half int, what byte) error {
	var message [messageBytes]byte
	if _, err := io.ReadFull(s.reader, message[:]); err != nil {
		return err
	}
	sequence, from, got := binary.LittleEndian.Uint32(message[:]), int(message[4]), message[5]
	if other := 1 - half; from == other && sequence == s.posted[other] && sequence != 0 && !s.answered[other] {
		half = other
	}
	switch {
	case sequence != s.posted[half] && sequence <= s.sequence && got == what:
		return &answerError{fmt.Sprintf("it answered message %d twice, or out of turn; want an answer to %d", sequence, s.posted[half])}
	case sequence != s.posted[half] || from != half || got != what:
		return &answerError{fmt.Sprintf("it answered with sequence %d, half %d, message %d; want %d, %d, %d", sequence, from, got, s.posted[half], half, what)}
	}
	if other := 1 - half; s.posted[other] != 0 && !s.answered[other] {
		s.since[other] = time.Now() // it goes on with that half
	}
	s.answered[half], s.count[half] = true, int(binary.LittleEndian.Uint16(message[6:]))
	return nil
}

// at returns the number among all of the environment that the server is at; -1: at none, or unknown.
func (s *server) at() int {
	if s.memory == nil {
		return -1
	}
	if now := numbers[uint32](s.memory, atNow, 1)[0]; now < uint32(s.n) {
		return s.number(int(now))
	}
	return -1
}

// kill ends the process and its group.
func (s *server) kill() {
	if s.command == nil {
		return
	}
	select {
	case <-s.exited: // its group is killed, and another one may have its number
	default:
		killGroup(s.command)
		<-s.exited
	}
}

// close lets the server close its environments, ends it, and frees the memory.
func (s *server) close() error {
	if s.command != nil {
		_ = s.send(0, messageClose) // it may have ended
		select {
		case <-s.exited:
		case <-time.After(grace):
		}
		s.kill()
	}
	return s.free()
}

// abandon ends a server that failed.
func (s *server) abandon() error {
	s.kill()
	return s.free()
}
