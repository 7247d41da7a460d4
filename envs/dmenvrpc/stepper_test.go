package dmenvrpc

import (
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/bridge"
	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// failures are those of the present test.
var failures bridge.Failures

const echoSize = 7

func newStep(n int) *envs.Step { return stepOf(n, echoSize, 1) }

// stepOf is a step of n environments, whose results are not there yet.
func stepOf(n, size, words int) *envs.Step {
	nan := slices.Repeat([]float32{float32(math.NaN())}, n*size)
	return &envs.Step{
		Action: make([]float32, n*words), Last: make([]bool, n), Idle: make([]bool, n), Obs: nan, Final: slices.Clone(nan),
		Reward: make([]float32, n), Terminated: make([]bool, n), Truncated: make([]bool, n),
	}
}

// numbersOf are the numbers of an action of an echo: move, and the two of pull.
func numbersOf(index int) []float32 {
	return []float32{float32(index/8 - 1), float32(index / 4 % 2), float32(index % 4)}
}

// Every step of every environment is that of its world: actions arrive as the tensors that the specs describe, observations, rewards and ends come back,
// time limits reset the world, idle worlds stay as they are, and seeds are given by resets.
func TestSteps(t *testing.T) {
	const n, steps = 9, 60
	e := &echo{}
	st := open(t, serveEcho(t, e), testConfig(), n)
	for i, want := range []any{echoSize, 24} {
		if got := []any{st.layout.observation.Size(), st.layout.action.N}[i]; got != want {
			t.Fatalf("sizes %v; want %v", got, want)
		}
	}
	worlds, seeds, s := make([]echoWorld, n), make([]uint32, n), newStep(n)
	for i := range seeds {
		seeds[i] = uint32(100 + 3*i)
	}
	if err := st.Reset(t.Context(), nil, seeds, s.Obs); err != nil {
		t.Fatal(err)
	}
	for i := range worlds {
		worlds[i].id, worlds[i].seed = int(s.Obs[i*echoSize+3]), int(seeds[i])
		worlds[i].advance(nil)
		if got, want := st.row(s.Obs, i), worlds[i].row(worlds[i].seed); !slices.Equal(got, want) {
			t.Fatalf("environment %d begins with %v; want %v", i, got, want)
		}
	}
	for k := range steps {
		clear(s.Terminated)
		clear(s.Truncated)
		for i := range n {
			s.Action[i], s.Last[i], s.Idle[i] = float32((5*k+i)%24), (k+i)%7 == 0, (k+i)%5 == 0
		}
		if err := st.Step(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if s.Idle[i] {
				continue
			}
			w := &worlds[i]
			seed := w.seed
			reward, state := w.advance(numbersOf(int(s.Action[i])))
			terminated, truncated := state == pb.EnvironmentStateType_TERMINATED, state == pb.EnvironmentStateType_INTERRUPTED
			if s.Reward[i] != float32(reward) || s.Terminated[i] != terminated || s.Truncated[i] != truncated {
				t.Fatalf("step %d, environment %d: reward %v, terminated %t, truncated %t; want %v, %v", k, i, s.Reward[i], s.Terminated[i], s.Truncated[i], reward, state)
			}
			of := s.Obs
			if s.Ended(i) {
				of = s.Final
			}
			if got, want := st.row(of, i), w.row(seed); !slices.Equal(got, want) {
				t.Fatalf("step %d, environment %d: %v; want %v", k, i, got, want)
			}
			if !s.Ended(i) {
				continue
			}
			if w.running { // a time limit
				w.running = false
				w.seed++
			}
			w.advance(nil)
			if got, want := st.row(s.Obs, i), w.row(w.seed); !slices.Equal(got, want) {
				t.Fatalf("step %d, environment %d begins anew with %v; want %v", k, i, got, want)
			}
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if e.joined != 0 || e.worlds != n+1 {
		t.Errorf("%d of %d worlds are still joined; want 0 of %d", e.joined, e.worlds, n+1)
	}
}

// What a server does wrong in a step is named; the environment is cut off at what it observed last and joins another world, and the others go on. The failure
// after the allowed ones ends the run.
func TestStepFails(t *testing.T) {
	one := func(f func(of *pb.StepResponse)) func(e *echo, r *pb.EnvironmentResponse) error {
		return func(_ *echo, r *pb.EnvironmentResponse) error {
			f(r.GetStep())
			return nil
		}
	}
	for name, c := range map[string]struct {
		breaks func(e *echo, r *pb.EnvironmentResponse) error
		want   string
	}{
		"error": {func(_ *echo, r *pb.EnvironmentResponse) error {
			r.Payload = &pb.EnvironmentResponse_Error{Error: &spb.Status{Code: 9, Message: "the floor gave way"}}
			return nil
		}, "step: the server answers: the floor gave way (code 9)"},
		"other response": {func(_ *echo, r *pb.EnvironmentResponse) error {
			r.Payload = &pb.EnvironmentResponse_LeaveWorld{LeaveWorld: &pb.LeaveWorldResponse{}}
			return nil
		}, `step: the server answers "leave_world"; want "step"`},
		"end of stream": {func(*echo, *pb.EnvironmentResponse) error { return errors.New("gone") }, "step: the stream failed: gone (Unknown)"},
		"silence": {func(e *echo, _ *pb.EnvironmentResponse) error {
			e.hang()
			return nil
		}, "step: there is no answer within 500ms"},
		"no observation": {one(func(of *pb.StepResponse) { delete(of.Observations, 2) }), `"did" was asked for and is not there`},
		"type": {one(func(of *pb.StepResponse) { putInts(of.Observations[2], pb.DataType_INT8, []int64{0, 0, 0}) }),
			`"did" has elements of type INT8; want INT32`},
		"shape": {one(func(of *pb.StepResponse) { of.Observations[2].Shape = []int32{3, 1} }), `"did" has shape [3 1]; want [3]`},
		"size":  {one(func(of *pb.StepResponse) { putInts(of.Observations[2], pb.DataType_INT32, []int64{0, 0}) }), `"did" has 2 elements; want 3`},
		"no number": {one(func(of *pb.StepResponse) { of.Observations[5].GetFloats().Array[2] = float32(math.NaN()) }),
			`observation "echo" has NaN as its element 2`},
		"reward": {one(func(of *pb.StepResponse) { of.Observations[1].GetDoubles().Array[0] = math.Inf(1) }), `reward "reward" has +Inf`},
		"state":  {one(func(of *pb.StepResponse) { of.State = 0 }), "the server answers state INVALID_ENVIRONMENT_STATE"},
	} {
		t.Run(name, func(t *testing.T) {
			failures = bridge.Failures{}
			e, fails := &echo{}, 1
			e.breaks = func(_, steps int, r *pb.EnvironmentResponse) error {
				e.mu.Lock()
				breaks := steps == 3 && fails > 0
				if breaks {
					fails--
				}
				e.mu.Unlock()
				if breaks {
					return c.breaks(e, r)
				}
				return nil
			}
			cfg := testConfig()
			cfg.Timeout, cfg.Restarts = 500*time.Millisecond, 1
			st, s := open(t, serveEcho(t, e), cfg, 1), newStep(1)
			if err := st.Reset(t.Context(), nil, []uint32{3}, s.Obs); err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(s.Obs)
			for k := range 2 {
				clear(s.Truncated)
				if err := st.Step(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				if k == 0 {
					before = slices.Clone(s.Obs)
				}
			}
			count, last := failures.Count()
			if count != 1 || !strings.Contains(last.Error(), c.want) {
				t.Fatalf("%d failures, %v; want %s", count, last, c.want)
			}
			if !s.Truncated[0] || s.Terminated[0] || s.Reward[0] != 0 || !slices.Equal(s.Final, before) || s.Obs[5] != 0 || s.Obs[3] != 2 {
				t.Errorf("truncated %t, terminated %t, reward %v, final %v, obs %v; want the end at %v",
					s.Truncated[0], s.Terminated[0], s.Reward[0], s.Final, s.Obs, before)
			}
			clear(s.Truncated)
			if err := st.Step(t.Context(), s); err != nil {
				t.Error(err)
			}
			st.cfg.Restarts = 0
			e.mu.Lock()
			fails = 1
			e.mu.Unlock()
			err := st.Step(t.Context(), s)
			var of *envs.OutsideError
			if !errors.As(err, &of) || of.Environment != 0 || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "[dm_env_rpc] restarts is 0") {
				t.Errorf("%v; want %s", err, c.want)
			}
		})
	}
}

// Servers that are not there, worlds that are refused and specs that are not taken are refused with what would be right.
func TestRefused(t *testing.T) {
	name := serveEcho(t, &echo{})
	change := func(f func(cfg *Config)) Config {
		cfg := testConfig()
		f(&cfg)
		return cfg
	}
	for what, c := range map[string]struct {
		name string
		cfg  Config
		want string
	}{
		"no server":    {Prefix + "127.0.0.1:1", testConfig(), "connection refused"},
		"no port":      {Prefix + "127.0.0.1", testConfig(), "want dm_env_rpc://HOST:PORT"},
		"wrong port":   {Prefix + "127.0.0.1:0", testConfig(), "want dm_env_rpc://HOST:PORT"},
		"settings":     {name, change(func(cfg *Config) { cfg.Join = `{"name": "you"}` }), "joined"},
		"observation":  {name, change(func(cfg *Config) { cfg.Observations = []string{"sound"} }), `"sound"; want one of "did", "echo", "reward", "said"`},
		"twice":        {name, change(func(cfg *Config) { cfg.Observations = []string{"did", "did"} }), `"did" twice`},
		"strings":      {name, change(func(cfg *Config) { cfg.Observations = nil }), `"said" is string []; want numbers of a fixed shape, or others in [dm_env_rpc]`},
		"action":       {name, change(func(cfg *Config) { cfg.Actions = []string{"push"} }), `none with the name "push"; want one of "move", "pull"`},
		"reward":       {name, change(func(cfg *Config) { cfg.Reward = "score" }), `none with the name "score"`},
		"reward's":     {name, change(func(cfg *Config) { cfg.Reward = "echo" }), `"echo" is float [4]; want one number`},
		"create":       {name, change(func(cfg *Config) { cfg.Create = `[1]` }), "is no JSON object"},
		"world":        {name, change(func(cfg *Config) { cfg.World = "w" }), "want one of the two"},
		"another spec": {name, change(func(cfg *Config) { cfg.Spec = `{"actions": [{"name": "a", "type": "complex"}]}` }), `its type is "complex"`},
	} {
		specs, err := Describe(t.Context(), c.name, c.cfg)
		if err == nil {
			_, err = New(c.name, &c.cfg, specs, nil)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", what, err, c.want)
		}
	}
	cfg := testConfig()
	specs, err := Describe(t.Context(), name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	specs.Actions[0].Max[0] = 2
	if _, err := openAs(t.Context(), name, cfg, specs, 2); err == nil || !strings.Contains(err.Error(), "other actions and observations than the run began with") {
		t.Errorf("other specs: %v", err)
	}
}

// A server that is gone for a while is waited for: the environment joins a world of the next one, and so do environments that begin meanwhile.
func TestServerReturns(t *testing.T) {
	failures = bridge.Failures{}
	e := &echo{specs: echoSpecs()}
	server, at := listen(t, e, "127.0.0.1:0")
	st, s := open(t, Prefix+at, testConfig(), 1), newStep(1)
	if err := st.Reset(t.Context(), nil, []uint32{3}, s.Obs); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	begins := time.AfterFunc(300*time.Millisecond, func() {
		server, _ := listen(t, &echo{specs: echoSpecs(), worlds: 50}, at)
		t.Cleanup(server.Stop)
	})
	defer begins.Stop()
	other, err := newStepper(t.Context(), at, *st.cfg, st.specs, st.layout, &failures, 2, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Step(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if n, last := failures.Count(); n != 1 || !s.Truncated[0] || s.Obs[3] != 52 {
		t.Errorf("%d failures, %v, truncated %t, then %v; want one, and the third world of the next server", n, last, s.Truncated[0], s.Obs)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

// A response that nobody asked for ends its stream, and only the environment's.
func TestUnasked(t *testing.T) {
	failures = bridge.Failures{}
	e := &echo{}
	e.breaks = func(world, steps int, _ *pb.EnvironmentResponse) error {
		if world == 1 && steps == 3 {
			return errTwice
		}
		return nil
	}
	st, s := open(t, serveEcho(t, e), testConfig(), 1), newStep(1)
	if err := st.Reset(t.Context(), nil, []uint32{3}, s.Obs); err != nil {
		t.Fatal(err)
	}
	for k, want := range []float32{2, 3, 1} {
		clear(s.Truncated)
		if err := st.Step(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if s.Obs[4] != want || s.Truncated[0] != (k == 2) {
			t.Errorf("step %d: %v, truncated %t; want %v steps of the world", k, s.Obs, s.Truncated[0], want)
		}
		for link := st.links[0]; k == 1 && link.ctx.Err() == nil; { // the second one comes by itself
			time.Sleep(time.Millisecond)
		}
	}
	if n, last := failures.Count(); n != 1 || !strings.Contains(last.Error(), `the server answers "step" without a request`) {
		t.Errorf("%d failures, %v", n, last)
	}
}

// Environments that have answered lose nothing by another one that does not, and one of which more is asked after the others' time has its own.
func TestOthersGoOn(t *testing.T) {
	failures = bridge.Failures{}
	const n = 3 // all of one part
	e := &echo{}
	e.breaks = func(world, steps int, _ *pb.EnvironmentResponse) error {
		if world == 1 && steps == 2 || world == 2 && steps == 3 {
			e.hang()
		}
		return nil
	}
	cfg := testConfig()
	cfg.Timeout = 200 * time.Millisecond
	st, s := open(t, serveEcho(t, e), cfg, n), newStep(n)
	which := map[int]int{}
	if err := st.Reset(t.Context(), nil, []uint32{3, 4, 5}, s.Obs); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		which[int(s.Obs[i*echoSize+3])] = i
		s.Last[i] = true // the first step, and the beginning of the next sequence
	}
	if err := st.Step(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	count, last := failures.Count()
	if count != 1 || !strings.Contains(last.Error(), "there is no answer within 200ms") {
		t.Errorf("%d failures, %v; want one of the step", count, last)
	}
	for world, i := range which {
		if cut := s.Truncated[i]; cut != (world == 1) {
			t.Errorf("world %d is cut off: %t", world, cut)
		}
		if anew := int(s.Obs[i*echoSize+3]) != world; anew != (world < 3) {
			t.Errorf("the environment of world %d is in %v then", world, s.Obs[i*echoSize+3])
		}
	}
}

// swallow serves an address before another one, and loses what connections that are open when it is told so have to say.
func swallow(t *testing.T, to string) (at string, lose func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var lost, now atomic.Int32 // connections before this one are lost; the number of the present one
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			number := now.Add(1)
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				go func() {
					defer func() { _ = way[1].Close() }()
					data := make([]byte, 1<<12)
					for {
						n, err := way[0].Read(data)
						if err != nil {
							return
						}
						if number <= lost.Load() {
							continue
						}
						if _, err := way[1].Write(data[:n]); err != nil {
							return
						}
					}
				}()
			}
		}
	}()
	return listener.Addr().String(), func() { lost.Store(now.Load()) }
}

// A connection over which nothing comes any more, without an end, is replaced.
func TestSilentConnection(t *testing.T) {
	failures = bridge.Failures{}
	at, lose := swallow(t, strings.TrimPrefix(serveEcho(t, &echo{}), Prefix))
	cfg := testConfig()
	cfg.Timeout = 200 * time.Millisecond
	st, s := open(t, Prefix+at, cfg, 2), newStep(2)
	if err := st.Reset(t.Context(), nil, []uint32{3, 4}, s.Obs); err != nil {
		t.Fatal(err)
	}
	lose()
	for k := range 2 {
		clear(s.Truncated)
		if err := st.Step(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if s.Truncated[0] != (k == 0) || s.Truncated[1] != (k == 0) {
			t.Errorf("step %d: truncated %v; want that of the lost connection", k, s.Truncated)
		}
	}
	if n, last := failures.Count(); n != 1 || !strings.Contains(last.Error(), "there is no answer within 200ms") || len(st.old) != 0 {
		t.Errorf("%d failures, %v, %d old connections; want one, and none", n, last, len(st.old))
	}
}
