package dmenvrpc

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/bridge"
	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
	"github.com/evorl/evorl/internal/vktest"
)

// serve serves an environment until the test ends, and returns its name for clients.
func serve(t *testing.T, name string, cfg ServerConfig) (string, *Server) {
	t.Helper()
	env, err := envs.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(vktest.Device(t), env, cfg)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return Prefix + listener.Addr().String(), s
}

// What agents of a server get is what the environment does on the device, with discrete and with continuous actions: the same observations, rewards and ends,
// from the same seeds, also over the ends of episodes and where a client resets.
func TestServer(t *testing.T) {
	for _, c := range []struct {
		env   string
		limit int
	}{{"CartPole-v1", 25}, {"Pendulum-v1", 7}} {
		const n, steps = 3, 60
		failures = bridge.Failures{}
		options := envs.Options{TimeLimit: c.limit}
		name, s := serve(t, c.env, ServerConfig{Options: options})
		cfg := Default()
		cfg.Seed, cfg.Restarts, cfg.Timeout = "seed", 0, 20*time.Second
		st := open(t, name, cfg, n)
		size, words := st.layout.observation.Size(), max(1, len(st.layout.action.Low))
		if a, of := s.env.Action, st.layout; of.action.N != a.N || !slices.Equal(of.action.High, a.High) || !slices.Equal(of.observation.Low, s.env.Observation.Low) {
			t.Errorf("%s: spaces %v, %v; want %v, %v", c.env, st.layout.observation, st.layout.action, s.env.Observation, a)
		}
		step := stepOf(n, size, words)
		if err := st.Reset(t.Context(), nil, []uint32{5, 6, 7}, step.Obs); err != nil {
			t.Fatal(err)
		}
		var alone []*envs.Batch
		for i := range n {
			b, err := envs.NewBatch(t.Context(), s.dev, s.env, 1, 1, options)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			obs, err := b.Reset(t.Context(), uint32(5+i))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(obs, st.row(step.Obs, i)) {
				t.Fatalf("%s %d begins with %v; want %v", c.env, i, st.row(step.Obs, i), obs)
			}
			alone = append(alone, b)
		}
		ends := 0
		for k := range steps {
			clear(step.Terminated)
			clear(step.Truncated)
			for i := range n {
				step.Action[i] = float32((k/2 + i) % 2)
			}
			if err := st.Step(t.Context(), step); err != nil {
				t.Fatal(err)
			}
			for i, b := range alone {
				want, err := b.StepContinuous(t.Context(), []float32{step.Action[i]})
				if s.env.Action.IsDiscrete() {
					want, err = b.Step(t.Context(), []uint32{uint32(step.Action[i])})
				}
				if err != nil {
					t.Fatal(err)
				}
				done := want.Done[0]
				terminated := done&envs.Terminated != 0
				if step.Reward[i] != want.Reward[0] || step.Terminated[i] != terminated || step.Truncated[i] != (done.Over() && !terminated) {
					t.Fatalf("%s %d, step %d: reward %v, ends %t, %t; want %v, %v", c.env, i, k, step.Reward[i], step.Terminated[i], step.Truncated[i], want.Reward, done)
				}
				if !slices.Equal(st.row(step.Obs, i), want.Obs) || done.Over() && !slices.Equal(st.row(step.Final, i), want.NextObs) {
					t.Fatalf("%s %d, step %d: %v; want %v", c.env, i, k, st.row(step.Obs, i), want.Obs)
				}
				if done.Over() {
					ends++
				}
			}
		}
		if ends < n {
			t.Errorf("%s: %d episodes ended; want at least %d", c.env, ends, n)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		if len(s.worlds) != 0 {
			t.Errorf("%d worlds are left", len(s.worlds))
		}
		s.mu.Unlock()
	}
}

// What a client does wrong is answered by an error that says so, after which the stream goes on. A world that another stream resets tells its agent by its
// next step, which the reset waits for. Worlds end with the stream that created them.
func TestServerRefuses(t *testing.T) {
	name, s := serve(t, "CartPole-v1", ServerConfig{Worlds: 2})
	at, err := address(name)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Default()
	c, err := newClient(at, &cfg, 1)
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.join(t.Context(), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	index := func(v int64) map[uint64]*pb.Tensor {
		out := &pb.Tensor{}
		putInts(out, pb.DataType_INT32, []int64{v})
		return map[uint64]*pb.Tensor{1: out}
	}
	step := func(actions map[uint64]*pb.Tensor, requested ...uint64) *pb.EnvironmentRequest {
		return &pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_Step{Step: &pb.StepRequest{Actions: actions, RequestedObservations: requested}}}
	}
	join := func(world string) *pb.EnvironmentRequest {
		return &pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_JoinWorld{JoinWorld: &pb.JoinWorldRequest{WorldName: world}}}
	}
	destroy := func(world string) *pb.EnvironmentRequest {
		return &pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_DestroyWorld{DestroyWorld: &pb.DestroyWorldRequest{WorldName: world}}}
	}
	create := &pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_CreateWorld{CreateWorld: &pb.CreateWorldRequest{}}}
	wide := index(1)
	wide[1].Shape = []int32{1}
	text := &pb.Tensor{Payload: &pb.Tensor_Strings{Strings: &pb.Tensor_StringArray{Array: []string{"x"}}}}
	reset := func(name string) *pb.EnvironmentRequest {
		return &pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_Reset_{Reset_: &pb.ResetRequest{Settings: map[string]*pb.Tensor{name: text}}}}
	}
	for i, of := range []struct {
		in   *pb.EnvironmentRequest
		want string
	}{
		{step(nil, 3), "identifier 3; want 1"}, {step(nil), ""}, {step(nil), "without an action"}, {step(index(2)), "want 0 to 1"}, {step(index(-1)), "want 0 to 1"},
		{step(wide), "has shape [1]"}, {step(map[uint64]*pb.Tensor{1: text}), "type STRING; want INT32"},
		{step(map[uint64]*pb.Tensor{2: text}), "identifier 2; want 1"},
		{step(index(1), 1, 2), ""}, {join(l.world), "has joined world"}, {join("x"), "has joined world"}, {destroy(l.world), "want leave_world before"},
		{destroy("x"), `there is no world "x"`}, {create, ""}, {create, "there are 2 worlds"}, {destroy("CartPole-v1-2"), ""},
		{&pb.EnvironmentRequest{}, "want create_world"}, {reset("level"), `setting "level"`}, {reset("seed"), "a seed of type STRING"},
	} {
		if err := l.send(of.in); err != nil {
			t.Fatal(err)
		}
		_, err := l.receive(kindOf(of.in))
		if (err == nil) != (of.want == "") || err != nil && !strings.Contains(err.Error(), of.want) {
			t.Fatalf("request %d, %v: %v; want %q", i, of.in, err, of.want)
		}
		l.waiting.Store(0)
	}
	other := *cfg2(cfg, l.world)
	c2, err := newClient(at, &other, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c2.join(t.Context(), 0, false); err == nil || !strings.Contains(err.Error(), "has its agent") {
		t.Errorf("a second agent: %v", err)
	}
	other.World, other.Create = "", ""
	c2.create, err = create, nil
	third, err := c2.join(t.Context(), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	again := &pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_ResetWorld{ResetWorld: &pb.ResetWorldRequest{WorldName: l.world}}}
	resetByOther := func() {
		t.Helper()
		if err := third.send(again); err != nil {
			t.Fatal(err)
		}
		for {
			s.mu.Lock()
			waits := len(s.worlds[l.world].others)
			s.mu.Unlock()
			if waits == 1 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	resetByOther()
	for i, want := range []pb.EnvironmentStateType{pb.EnvironmentStateType_INTERRUPTED, pb.EnvironmentStateType_RUNNING, pb.EnvironmentStateType_RUNNING} {
		out, err := l.ask(step(index(0), 1))
		if err != nil || out.GetStep().GetState() != want || len(out.GetStep().GetObservations()) != 1 {
			t.Errorf("step %d after another stream's reset: %v, %v; want %v", i, out, err, want)
		}
	}
	if _, err := third.receive("reset_world"); err != nil {
		t.Error(err)
	}
	resetByOther()
	if _, err := l.ask(&pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_Reset_{Reset_: &pb.ResetRequest{}}}); err != nil {
		t.Error(err)
	}
	for i := range 2 { // the agent has reset it too, and its sequence is not interrupted
		out, err := l.ask(step(index(0), 1))
		if want := pb.EnvironmentStateType_RUNNING; err != nil || out.GetStep().GetState() != want {
			t.Errorf("step %d after both streams' resets: %v, %v; want %v", i, out, err, want)
		}
	}
	if _, err := third.receive("reset_world"); err != nil {
		t.Error(err)
	}
	for _, of := range []*link{l, third} {
		of.cancel(context.Canceled) // without leaving
	}
	for k := 0; ; k++ {
		s.mu.Lock()
		left := len(s.worlds)
		s.mu.Unlock()
		if left == 0 {
			break
		}
		if k > 5000 {
			t.Fatalf("%d worlds are left", left)
		}
		time.Sleep(time.Millisecond)
	}
	for _, of := range []*client{c, c2} {
		if err := of.close(); err != nil {
			t.Error(err)
		}
	}
}

// cfg2 is a configuration that joins a world.
func cfg2(cfg Config, world string) *Config {
	cfg.World = world
	return &cfg
}
