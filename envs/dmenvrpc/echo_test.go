package dmenvrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"

	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// echo is a server whose observations say world, steps since it was created, steps of the sequence, seed, and the action before. Sequences have
// 2 + seed % 4 steps; the next one has the seed after. They are terminated, or interrupted if the seed is odd.
type echo struct {
	pb.UnimplementedEnvironmentServer
	specs   *pb.ActionObservationSpecs
	breaks  func(world, steps int, r *pb.EnvironmentResponse) error // may change a step's response; an error ends the stream
	created func()                                                  // is called before a world is created; nil: nothing is
	mu      sync.Mutex
	worlds  int
	joined  int // now
	stop    chan struct{}
}

type echoWorld struct {
	id, steps, at, seed int
	last                []float32
	joined, running     bool
}

func echoSpecs() *pb.ActionObservationSpecs {
	ints := func(v ...int32) *pb.TensorSpec_Value {
		return &pb.TensorSpec_Value{Payload: &pb.TensorSpec_Value_Int32S{Int32S: &pb.Tensor_Int32Array{Array: v}}}
	}
	return &pb.ActionObservationSpecs{
		Actions: map[uint64]*pb.TensorSpec{
			7: {Name: "move", Dtype: pb.DataType_INT32, Min: ints(-1), Max: ints(1)},
			3: {Name: "pull", Dtype: pb.DataType_INT32, Shape: []int32{2}, Min: ints(0), Max: ints(1, 3)},
		},
		Observations: map[uint64]*pb.TensorSpec{
			1: {Name: "reward", Dtype: pb.DataType_DOUBLE}, 5: {Name: "echo", Dtype: pb.DataType_FLOAT, Shape: []int32{4}},
			2: {Name: "did", Dtype: pb.DataType_INT32, Shape: []int32{3}}, 9: {Name: "said", Dtype: pb.DataType_STRING},
		},
	}
}

// errTwice is what breaks returns of a response that is sent twice.
var errTwice = errors.New("twice")

// serveEcho serves until the test ends, and returns the name of the environment.
func serveEcho(t *testing.T, e *echo) string {
	t.Helper()
	if e.specs == nil {
		e.specs = echoSpecs()
	}
	e.stop = make(chan struct{})
	server, at := listen(t, e, "127.0.0.1:0")
	t.Cleanup(func() {
		close(e.stop)
		server.Stop()
	})
	return Prefix + at
}

// listen serves at an address until Stop.
func listen(t *testing.T, e *echo, address string) (server *grpc.Server, at string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server = grpc.NewServer()
	pb.RegisterEnvironmentServer(server, e)
	go func() { _ = server.Serve(listener) }() // until Stop
	return server, listener.Addr().String()
}

func (e *echo) Process(stream grpc.BidiStreamingServer[pb.EnvironmentRequest, pb.EnvironmentResponse]) error {
	var w *echoWorld
	for {
		in, err := stream.Recv()
		if err != nil {
			return nil // the client is gone
		}
		out := &pb.EnvironmentResponse{}
		switch p := in.GetPayload().(type) {
		case *pb.EnvironmentRequest_CreateWorld:
			if e.created != nil {
				e.created()
			}
			e.mu.Lock()
			w = &echoWorld{id: e.worlds, seed: int(p.CreateWorld.GetSettings()["level"].GetInt64S().GetArray()[0])}
			e.worlds++
			e.mu.Unlock()
			out.Payload = &pb.EnvironmentResponse_CreateWorld{CreateWorld: &pb.CreateWorldResponse{WorldName: fmt.Sprint(w.id)}}
		case *pb.EnvironmentRequest_JoinWorld:
			if p.JoinWorld.GetWorldName() != fmt.Sprint(w.id) || p.JoinWorld.GetSettings()["name"].GetStrings().GetArray()[0] != "me" {
				return fmt.Errorf("joined %v", p.JoinWorld)
			}
			e.count(1)
			w.joined = true
			out.Payload = &pb.EnvironmentResponse_JoinWorld{JoinWorld: &pb.JoinWorldResponse{Specs: e.specs}}
		case *pb.EnvironmentRequest_Reset_:
			if seed := p.Reset_.GetSettings()["seed"].GetInt64S().GetArray(); len(seed) == 1 {
				w.seed = int(seed[0])
			} else if w.running {
				w.seed++
			}
			w.running = false
			out.Payload = &pb.EnvironmentResponse_Reset_{Reset_: &pb.ResetResponse{Specs: e.specs}}
		case *pb.EnvironmentRequest_Step:
			out.Payload = &pb.EnvironmentResponse_Step{Step: w.step(p.Step)}
			if e.breaks != nil {
				err := e.breaks(w.id, w.steps, out)
				if err == errTwice {
					err = stream.Send(out)
				}
				if err == io.EOF {
					return nil
				}
				if err != nil {
					return err
				}
			}
		case *pb.EnvironmentRequest_LeaveWorld:
			e.count(-1)
			out.Payload = &pb.EnvironmentResponse_LeaveWorld{LeaveWorld: &pb.LeaveWorldResponse{}}
		case *pb.EnvironmentRequest_DestroyWorld:
			out.Payload = &pb.EnvironmentResponse_DestroyWorld{DestroyWorld: &pb.DestroyWorldResponse{}}
		}
		if out.Payload == nil {
			out.Payload = &pb.EnvironmentResponse_Error{Error: &spb.Status{Code: 3, Message: "no such request"}}
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
}

func (e *echo) count(by int) {
	e.mu.Lock()
	e.joined += by
	e.mu.Unlock()
}

// hang does not return before the test ends.
func (e *echo) hang() {
	select {
	case <-e.stop:
	case <-time.After(time.Minute):
	}
}

// advance takes a step; action is nil at a beginning.
func (w *echoWorld) advance(action []float32) (reward float64, state pb.EnvironmentStateType) {
	w.steps++
	if !w.running {
		w.running, w.at, w.last = true, 0, []float32{-9, -9, -9}
		return 0, pb.EnvironmentStateType_RUNNING
	}
	w.at++
	w.last = action
	if w.at < 2+w.seed%4 {
		return float64(w.at) / 4, pb.EnvironmentStateType_RUNNING
	}
	w.running = false
	w.seed++
	if w.seed%2 == 0 { // it was odd
		return -1, pb.EnvironmentStateType_INTERRUPTED
	}
	return 1, pb.EnvironmentStateType_TERMINATED
}

// row is what is observed after a step that began with a seed.
func (w *echoWorld) row(seed int) []float32 {
	return append(append([]float32{}, w.last...), float32(w.id), float32(w.steps), float32(w.at), float32(seed))
}

func (w *echoWorld) step(of *pb.StepRequest) *pb.StepResponse {
	action := []float32{-99, -99, -99}
	if w.running {
		if v := of.GetActions()[7].GetInt32S().GetArray(); len(v) == 1 && len(of.GetActions()[7].GetShape()) == 0 {
			action[0] = float32(v[0])
		}
		if v := of.GetActions()[3].GetInt32S().GetArray(); len(v) == 2 && fmt.Sprint(of.GetActions()[3].GetShape()) == "[2]" {
			action[1], action[2] = float32(v[0]), float32(v[1])
		}
	}
	seed := w.seed
	reward, state := w.advance(action)
	did := make([]int64, 3)
	for i := range did {
		did[i] = int64(w.last[i])
	}
	out := &pb.StepResponse{State: state, Observations: map[uint64]*pb.Tensor{}}
	for _, uid := range of.GetRequestedObservations() {
		t := &pb.Tensor{}
		switch uid {
		case 1:
			putFloats(t, pb.DataType_DOUBLE, []float64{reward})
		case 5:
			t.Shape = []int32{-1} // inferred
			putFloats(t, pb.DataType_FLOAT, converted[float64](w.row(seed)[3:]))
		case 2:
			t.Shape = []int32{3}
			if putInts(t, pb.DataType_INT32, did); did[0] == did[1] && did[1] == did[2] {
				putInts(t, pb.DataType_INT32, did[:1]) // it stands for all
			}
		}
		out.Observations[uid] = t
	}
	return out
}

// testConfig is a configuration for an echo.
func testConfig() Config {
	cfg := Default()
	cfg.Create, cfg.Join, cfg.Seed = `{"level": 5}`, `{"name": "me"}`, "seed"
	cfg.Observations = []string{"did", "echo"}
	cfg.Timeout, cfg.StartTimeout = 5*time.Second, 5*time.Second
	return cfg
}

// open asks the server what it has and joins n worlds.
func open(t *testing.T, name string, cfg Config, n int) *stepper {
	t.Helper()
	specs, err := Describe(t.Context(), name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	st, err := openAs(t.Context(), name, cfg, specs, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func openAs(ctx context.Context, name string, cfg Config, specs *Specs, n int) (*stepper, error) {
	at, err := address(name)
	if err != nil {
		return nil, err
	}
	l, err := newLayout(specs, &cfg)
	if err != nil {
		return nil, err
	}
	return newStepper(ctx, at, cfg, specs, l, &failures, n, false)
}
