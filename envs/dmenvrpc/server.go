package dmenvrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
	"github.com/evorl/evorl/vk"
)

// mostReceived bounds a request, in bytes.
const mostReceived = 64 << 20

// ServerConfig configures a Server. The zero value is ready.
type ServerConfig struct {
	Options envs.Options // of the environments; auto-reset is the protocol's
	Worlds  int          // that exist at once at most; 0: 64
	Seed    uint32       // of worlds that are created without one: the first has it, the others have seeds that follow from it
}

// Server serves an environment of evorl to agents of other programs. Every world that is created is a copy on the device, which one agent may join. It
// authenticates nobody and encrypts nothing.
type Server struct {
	pb.UnimplementedEnvironmentServer
	dev    *vk.Device
	env    *envs.Environment
	cfg    ServerConfig
	served *served

	mu      sync.Mutex // of the worlds, and of the device
	worlds  map[string]*world
	created uint32
	failed  chan error
}

// NewServer makes a server; Serve answers. An environment has one agent and GLSL.
//
// Errors: another environment, a number of worlds below 0, auto-reset disabled.
func NewServer(dev *vk.Device, env *envs.Environment, cfg ServerConfig) (*Server, error) {
	if err := engine.Require(map[string]any{"device": dev, "environment": env}); err != nil {
		return nil, fmt.Errorf("dm_env_rpc: %w", err)
	}
	switch n := env.Seats(); {
	case n > 1:
		return nil, fmt.Errorf("dm_env_rpc: a server of %q, which has %d agents; want one", env.Name, n)
	case cfg.Worlds < 0:
		return nil, fmt.Errorf("dm_env_rpc: a server of %d worlds; want at least 1, or 0 for 64", cfg.Worlds)
	case cfg.Options.AutoReset == envs.Disabled:
		return nil, fmt.Errorf("dm_env_rpc: a server of environments of auto-reset mode %v; want %v or %v", envs.Disabled, envs.Normal, envs.Fast)
	}
	if cfg.Worlds == 0 {
		cfg.Worlds = 64
	}
	return &Server{dev: dev, env: env, cfg: cfg, served: newServed(env), worlds: map[string]*world{}, failed: make(chan error, 1)}, nil
}

// Serve answers until the context ends, which is no error, or the device fails. It closes the listener, and destroys all worlds.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := grpc.NewServer(grpc.MaxRecvMsgSize(mostReceived))
	pb.RegisterEnvironmentServer(server, s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	var err error
	select {
	case err = <-ended:
	case err = <-s.failed:
	case <-ctx.Done():
	}
	server.Stop() // waits for its streams
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.worlds {
		w.batch.Close()
	}
	clear(s.worlds)
	if err != nil {
		return fmt.Errorf("dm_env_rpc: %w", err)
	}
	return nil
}

// requestError is what is wrong with a request.
type requestError struct {
	code codes.Code
	err  error
}

func (e *requestError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *requestError) Unwrap() error { return e.err }

const (
	invalid = codes.InvalidArgument
	missing = codes.NotFound
	unready = codes.FailedPrecondition
)

func refuse(code codes.Code, format string, args ...any) error {
	return &requestError{code, fmt.Errorf(format, args...)}
}

// session is a stream.
type session struct {
	*Server
	ctx    context.Context
	joined *world
}

// Process answers the requests of a stream in order.
func (s *Server) Process(stream grpc.BidiStreamingServer[pb.EnvironmentRequest, pb.EnvironmentResponse]) error {
	c := &session{Server: s, ctx: stream.Context()}
	defer c.end()
	for {
		in, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		out, err := c.answer(in)
		if err != nil {
			code := codes.Internal
			if wrong := (*requestError)(nil); errors.As(err, &wrong) {
				code = wrong.code
			} else if c.ctx.Err() == nil {
				select {
				case s.failed <- err:
				default: // another one has failed
				}
			}
			out = &pb.EnvironmentResponse{Payload: &pb.EnvironmentResponse_Error{Error: &spb.Status{Code: int32(code), Message: err.Error()}}}
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
}

// answer does what a request says.
func (c *session) answer(in *pb.EnvironmentRequest) (*pb.EnvironmentResponse, error) {
	switch p := in.GetPayload().(type) {
	case *pb.EnvironmentRequest_CreateWorld:
		name, err := c.create(p.CreateWorld)
		return &pb.EnvironmentResponse{Payload: &pb.EnvironmentResponse_CreateWorld{CreateWorld: &pb.CreateWorldResponse{WorldName: name}}}, err
	case *pb.EnvironmentRequest_JoinWorld:
		of := &pb.JoinWorldResponse{Specs: c.served.message}
		return &pb.EnvironmentResponse{Payload: &pb.EnvironmentResponse_JoinWorld{JoinWorld: of}}, c.join(p.JoinWorld)
	case *pb.EnvironmentRequest_Step:
		of, err := c.step(p.Step)
		return &pb.EnvironmentResponse{Payload: &pb.EnvironmentResponse_Step{Step: of}}, err
	case *pb.EnvironmentRequest_Reset_:
		of := &pb.ResetResponse{Specs: c.served.message}
		return &pb.EnvironmentResponse{Payload: &pb.EnvironmentResponse_Reset_{Reset_: of}}, c.reset(p.Reset_)
	case *pb.EnvironmentRequest_ResetWorld:
		return &pb.EnvironmentResponse{Payload: &pb.EnvironmentResponse_ResetWorld{ResetWorld: &pb.ResetWorldResponse{}}}, c.resetWorld(p.ResetWorld)
	case *pb.EnvironmentRequest_LeaveWorld:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.leave()
		return &pb.EnvironmentResponse{Payload: &pb.EnvironmentResponse_LeaveWorld{LeaveWorld: &pb.LeaveWorldResponse{}}}, nil
	case *pb.EnvironmentRequest_DestroyWorld:
		return &pb.EnvironmentResponse{Payload: &pb.EnvironmentResponse_DestroyWorld{DestroyWorld: &pb.DestroyWorldResponse{}}}, c.destroy(p.DestroyWorld)
	}
	return nil, refuse(codes.Unimplemented, "a request %q; want create_world, join_world, step, reset, reset_world, leave_world or destroy_world", kindOf(in))
}
