//go:build unix

package dmenvrpc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"

	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// faultTimeout is the time in which a server of a fault run answers.
const faultTimeout = 500 * time.Millisecond

// faultKind is something that goes wrong at a server.
type faultKind struct {
	name  string
	says  string // its failure's text has it; "": it is no failure
	all   bool   // the server fails, with all its worlds; else one world
	does  func(r *pb.EnvironmentResponse) error
	given string // to the next server
}

// faultOf is a fault of a step's response.
func faultOf(f func(of *pb.StepResponse)) func(r *pb.EnvironmentResponse) error {
	return func(r *pb.EnvironmentResponse) error {
		f(r.GetStep())
		return nil
	}
}

// faultPause is a fault that delays a response.
func faultPause(after time.Duration) func(*pb.EnvironmentResponse) error {
	return func(*pb.EnvironmentResponse) error {
		time.Sleep(after)
		return nil
	}
}

func faultExit(*pb.EnvironmentResponse) error {
	os.Exit(9)
	return nil
}

// faultKinds are dealt in a random order. Those without does are what the test does to the process.
var faultKinds = []faultKind{
	{name: "error", says: "step: the server answers: the floor gave way (code 9)", does: func(r *pb.EnvironmentResponse) error {
		r.Payload = &pb.EnvironmentResponse_Error{Error: &spb.Status{Code: 9, Message: "the floor gave way"}}
		return nil
	}},
	{name: "other response", says: `the server answers "leave_world"; want "step"`, does: func(r *pb.EnvironmentResponse) error {
		r.Payload = &pb.EnvironmentResponse_LeaveWorld{LeaveWorld: &pb.LeaveWorldResponse{}}
		return nil
	}},
	{name: "stream fails", says: "the stream failed: gone (Unknown)", does: func(*pb.EnvironmentResponse) error { return errors.New("gone") }},
	{name: "stream ends", says: "the server has ended the stream", does: func(*pb.EnvironmentResponse) error { return io.EOF }},
	{name: "no observation", says: `"did" was asked for and is not there`, does: faultOf(func(of *pb.StepResponse) { delete(of.Observations, 2) })},
	{name: "type", says: `"did" has elements of type INT8; want INT32`,
		does: faultOf(func(of *pb.StepResponse) { putInts(of.Observations[2], pb.DataType_INT8, []int64{0, 0, 0}) })},
	{name: "shape", says: `"did" has shape [3 1]; want [3]`, does: faultOf(func(of *pb.StepResponse) { of.Observations[2].Shape = []int32{3, 1} })},
	{name: "size", says: `"did" has 2 elements; want 3`,
		does: faultOf(func(of *pb.StepResponse) { putInts(of.Observations[2], pb.DataType_INT32, []int64{0, 0}) })},
	{name: "nan", says: `observation "echo" has NaN as its element 2`,
		does: faultOf(func(of *pb.StepResponse) { of.Observations[5].GetFloats().Array[2] = float32(math.NaN()) })},
	{name: "inf", says: `reward "reward" has -Inf`, does: faultOf(func(of *pb.StepResponse) { of.Observations[1].GetDoubles().Array[0] = math.Inf(-1) })},
	{name: "state", says: "the server answers state INVALID_ENVIRONMENT_STATE", does: faultOf(func(of *pb.StepResponse) { of.State = 0 })},
	{name: "hang", says: "there is no answer within 500ms", does: faultPause(time.Minute)},
	{name: "late", says: "there is no answer within 500ms", does: faultPause(7 * faultTimeout / 5)},
	{name: "slow", does: faultPause(2 * faultTimeout / 5)},
	{name: "die", says: "the stream failed", all: true, does: faultExit},
	{name: "kill", says: "the stream failed", all: true},
	{name: "stop", says: "there is no answer within 500ms", all: true},
	{name: "dies again", says: "the stream failed", all: true, does: faultExit, given: "dies"},
	{name: "a second away", says: "the stream failed", all: true, does: faultExit, given: "late"},
}

// faultOrders are what is to go wrong in a process, which reads it from its standard input: "NUMBER STEPS" lets the kind go wrong in one of its steps.
type faultOrders struct {
	mu    sync.Mutex
	kind  *faultKind
	steps int
}

func (o *faultOrders) read(from io.Reader) {
	for in := bufio.NewScanner(from); in.Scan(); {
		var kind, steps int
		if _, err := fmt.Sscan(in.Text(), &kind, &steps); err == nil {
			o.mu.Lock()
			o.kind, o.steps = &faultKinds[kind], steps
			o.mu.Unlock()
		}
	}
}

// breaks counts the steps of all worlds, and says which one a fault hits.
func (o *faultOrders) breaks(world, _ int, r *pb.EnvironmentResponse) error {
	o.mu.Lock()
	kind := o.kind
	if o.steps--; kind == nil || o.steps > 0 {
		kind = nil
	} else {
		o.kind = nil
	}
	o.mu.Unlock()
	if kind == nil {
		return nil
	}
	fmt.Println("hit", world, time.Now().UnixNano())
	return kind.does(r)
}

// TestMain runs the tests, or a server with faults: EVORL_DMENVRPC_FAULTS is its address, the number of its first world, and what it is to do.
func TestMain(m *testing.M) {
	given := strings.Fields(os.Getenv("EVORL_DMENVRPC_FAULTS"))
	if len(given) == 0 {
		os.Exit(m.Run())
	}
	o, e := &faultOrders{}, &echo{specs: echoSpecs(), stop: make(chan struct{})}
	e.breaks = o.breaks
	if len(given) > 2 && given[2] == "dies" {
		e.created = func() { os.Exit(9) }
	}
	listener, err := net.Listen("tcp", given[0])
	if _, e := fmt.Sscan(given[1], &e.worlds); err != nil || e != nil {
		fmt.Fprintln(os.Stderr, err, e)
		os.Exit(3)
	}
	server := grpc.NewServer()
	pb.RegisterEnvironmentServer(server, e)
	fmt.Println(listener.Addr())
	go func() { _ = server.Serve(listener) }() // until the process ends
	o.read(os.Stdin)
}

// faultHit is a fault that happened.
type faultHit struct {
	world int // -1: all
	at    time.Time
}

// faultServer is a server in a process of its own, which is started anew a tenth of a second after it ends.
type faultServer struct {
	t    *testing.T
	at   string
	hits chan faultHit

	mu     sync.Mutex
	ended  chan struct{}
	cmd    *exec.Cmd
	in     io.WriteCloser
	first  int    // number of the next process's first world
	given  string // what the next process is to do
	closed bool
}

// beginFaultServer starts a server, which ends with the test.
func beginFaultServer(t *testing.T) *faultServer {
	s := &faultServer{t: t, at: "127.0.0.1:0", hits: make(chan faultHit, 16)}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.mu.Lock()
		s.closed = true
		ended := s.ended
		_ = s.cmd.Process.Kill()
		s.mu.Unlock()
		<-ended
	})
	return s
}

// start starts a process, and what starts the next one.
func (s *faultServer) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("EVORL_DMENVRPC_FAULTS=%s %d %s", s.at, s.first, s.given))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		return errors.Join(err, cmd.Wait())
	}
	s.at, s.cmd, s.in, s.given, s.ended = strings.TrimSpace(line), cmd, in, "", make(chan struct{})
	s.first += 1000
	go s.watch(lines, cmd, s.ended)
	return nil
}

func (s *faultServer) watch(lines *bufio.Reader, cmd *exec.Cmd, ended chan struct{}) {
	defer close(ended)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		var world int
		var nanoseconds int64
		if _, err := fmt.Sscanf(line, "hit %d %d", &world, &nanoseconds); err == nil {
			s.hits <- faultHit{world, time.Unix(0, nanoseconds)}
		}
	}
	_ = cmd.Wait() // it was killed
	s.mu.Lock()
	after := 100 * time.Millisecond
	if s.given == "late" {
		after, s.given = time.Second, ""
	}
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return
	}
	time.Sleep(after)
	if err := s.start(); err != nil {
		s.t.Error(err)
	}
}

// order lets a kind of fault go wrong in one of the next steps.
func (s *faultServer) order(kind, steps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = faultKinds[kind].given
	if faultKinds[kind].does != nil {
		if _, err := fmt.Fprintln(s.in, kind, steps); err != nil {
			s.t.Error(err)
		}
		return
	}
	time.AfterFunc(time.Duration(steps)*50*time.Microsecond, func() { s.signal(faultKinds[kind].name) })
}

// signal kills the process, or stops it and kills it later.
func (s *faultServer) signal(name string) {
	s.mu.Lock()
	cmd := s.cmd
	s.mu.Unlock()
	s.hits <- faultHit{-1, time.Now()}
	if name == "stop" {
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			s.t.Error(err)
		}
		time.Sleep(3 * faultTimeout / 2)
	}
	if err := cmd.Process.Kill(); err != nil {
		s.t.Error(err)
	}
}
