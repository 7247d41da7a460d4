package dmenvrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// streamsOfOne is the number of streams that share a connection: servers allow about a hundred.
const streamsOfOne = 64

// leaveTimeout bounds the farewell to a world.
const leaveTimeout = time.Second

// client has the connections to a server.
type client struct {
	address      string
	cfg          *Config
	create, with *pb.EnvironmentRequest // nil: World is there; the request that joins, without its name
	conns        []*grpc.ClientConn
}

// newClient makes a client of n streams. Nothing is sent before the first one.
func newClient(address string, cfg *Config, n int) (*client, error) {
	c := &client{address: address, cfg: cfg}
	settings, err := parseSettings(cfg.Create)
	if err != nil {
		return nil, err
	}
	if cfg.World == "" {
		c.create = &pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_CreateWorld{CreateWorld: &pb.CreateWorldRequest{Settings: settings}}}
	}
	if settings, err = parseSettings(cfg.Join); err != nil {
		return nil, err
	}
	c.with = &pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_JoinWorld{JoinWorld: &pb.JoinWorldRequest{Settings: settings}}}
	for range (n + streamsOfOne - 1) / streamsOfOne {
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the server %s: %w", address, err), c.close())
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

func (c *client) close() error {
	var errs []error
	for _, conn := range c.conns {
		errs = append(errs, conn.Close())
	}
	c.conns = nil
	return errors.Join(errs...)
}

// link is a stream that has joined a world.
type link struct {
	ctx    context.Context // of the stream; its cause says why it was given up
	cancel context.CancelCauseFunc
	stream grpc.BidiStreamingClient[pb.EnvironmentRequest, pb.EnvironmentResponse]

	world                 string
	created               bool
	specs                 *Specs
	actions, observations map[string]uint64
	requested             []uint64

	running bool         // within a sequence
	resets  bool         // the present sequence begins with a reset
	waiting atomic.Int32 // requests without a response
}

// join opens stream number i, creates a world unless there is one, and joins it. A server that is not there is an error, or waited for.
func (c *client) join(ctx context.Context, i int, wait bool) (*link, error) {
	l := &link{world: c.cfg.World}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	defer limit(ctx, c.cfg.StartTimeout, l)()
	err := l.open(c, i, wait)
	if err == nil {
		return l, nil
	}
	l.cancel(err)
	return nil, fmt.Errorf("the server %s: %w", c.address, err)
}

func (l *link) open(c *client, i int, wait bool) (err error) {
	l.waiting.Store(1) // for the connection
	if l.stream, err = pb.NewEnvironmentClient(c.conns[i/streamsOfOne%len(c.conns)]).Process(l.ctx, grpc.WaitForReady(wait)); err != nil {
		return l.explain(err)
	}
	l.waiting.Store(0)
	if c.create != nil {
		of, err := l.ask(c.create)
		if err != nil {
			return err
		}
		l.world, l.created = of.GetCreateWorld().GetWorldName(), true
	}
	with := &pb.JoinWorldRequest{WorldName: l.world, Settings: c.with.GetJoinWorld().GetSettings()}
	of, err := l.ask(&pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_JoinWorld{JoinWorld: with}})
	if err != nil {
		return err
	}
	l.specs, l.actions, l.observations, err = specsOf(of.GetJoinWorld().GetSpecs())
	return err
}

// leave leaves the world, destroys it if it was created, and ends the stream; it does not insist.
func (l *link) leave() {
	defer l.cancel(context.Canceled)
	if l.ctx.Err() != nil || l.waiting.Load() > 0 {
		return
	}
	defer limit(context.Background(), leaveTimeout, l)()
	if _, err := l.ask(&pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_LeaveWorld{LeaveWorld: &pb.LeaveWorldRequest{}}}); err != nil || !l.created {
		return
	}
	of := &pb.DestroyWorldRequest{WorldName: l.world}
	if _, err := l.ask(&pb.EnvironmentRequest{Payload: &pb.EnvironmentRequest_DestroyWorld{DestroyWorld: of}}); err == nil {
		_ = l.stream.CloseSend() // it is over in any case
	}
}

// timeoutError is why a stream is given up whose server does not answer.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("there is no answer within %v", e.after) }

// limit gives streams up that wait for an answer after a time, and all of them when the context ends, until its result is called.
func limit(ctx context.Context, after time.Duration, links ...*link) (release func()) {
	giveUp := func(err error, all bool) {
		for _, l := range links {
			if l != nil && (all || l.waiting.Load() > 0) {
				l.cancel(err)
			}
		}
	}
	timer := time.AfterFunc(after, func() { giveUp(&timeoutError{after}, false) })
	stop := context.AfterFunc(ctx, func() { giveUp(context.Cause(ctx), true) })
	return func() {
		timer.Stop()
		stop()
	}
}

// ask sends a request and returns its response.
func (l *link) ask(of *pb.EnvironmentRequest) (*pb.EnvironmentResponse, error) {
	if err := l.send(of); err != nil {
		return nil, err
	}
	return l.receive(kindOf(of))
}

func (l *link) send(of *pb.EnvironmentRequest) error {
	l.waiting.Add(1)
	if err := l.stream.Send(of); err != nil && !errors.Is(err, io.EOF) { // of an end of the stream Recv has the cause
		return l.explain(err)
	}
	return nil
}

// receive returns the response to a request of a kind.
func (l *link) receive(kind string) (*pb.EnvironmentResponse, error) {
	of, err := l.stream.Recv()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, l.explain(err))
	}
	l.waiting.Add(-1)
	if e := of.GetError(); e != nil {
		return nil, fmt.Errorf("%s: the server answers: %.1000s (code %d)", kind, e.GetMessage(), e.GetCode())
	}
	if got := kindOf(of); got != kind {
		return nil, fmt.Errorf("%s: the server answers %q; want %q", kind, got, kind)
	}
	return of, nil
}

// explain returns why a stream ended.
func (l *link) explain(err error) error {
	if cause := context.Cause(l.ctx); cause != nil {
		return cause
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the server has ended the stream")
	}
	of := status.Convert(err)
	return fmt.Errorf("the stream failed: %s (%v)", of.Message(), of.Code())
}

// kindOf returns the name of a message's payload: step, reset …; "" without one.
func kindOf(of proto.Message) string {
	m := of.ProtoReflect()
	field := m.WhichOneof(m.Descriptor().Oneofs().ByName("payload"))
	if field == nil {
		return ""
	}
	return string(field.Name())
}
