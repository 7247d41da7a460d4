package dmenvrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/evorl/evorl/envs/dmenvrpc/internal/pb"
)

// streamsOfOne is the number of streams that share a connection: servers allow about a hundred.
const streamsOfOne = 64

// leaveTimeout bounds the farewell to a world.
const leaveTimeout = time.Second

// retryAfter is the pause before a world is joined anew whose server has ended while it was joined.
const retryAfter = 100 * time.Millisecond

// reconnect is how often a server that is gone is tried: its return is noticed within two seconds.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
	MinConnectTimeout: 20 * time.Second,
}

// client has the connections to a server.
type client struct {
	address      string
	cfg          *Config
	create, with *pb.EnvironmentRequest // nil: World is there; the request that joins, without its name

	mu    sync.Mutex
	conns []*grpc.ClientConn
	old   []*grpc.ClientConn // that other streams may still have
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
		conn, err := c.connect()
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

// connect makes a connection, which dials when a stream needs it.
func (c *client) connect() (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///"+c.address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithConnectParams(reconnect), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, fmt.Errorf("the server %s: %w", c.address, err)
	}
	return conn, nil
}

// conn returns the connection of stream number i.
func (c *client) conn(i int) *grpc.ClientConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conns[i/streamsOfOne%len(c.conns)]
}

// renew makes a connection for stream number i, whose server does not answer over the one that it has: a network may have lost it without telling.
func (c *client) renew(i int, silent *grpc.ClientConn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := &c.conns[i/streamsOfOne%len(c.conns)]
	if *at != silent {
		return nil // another stream has
	}
	conn, err := c.connect()
	if err == nil {
		*at, c.old = conn, append(c.old, silent)
	}
	return err
}

// retire closes the old connections that no stream has any more.
func (c *client) retire(links []*link) error {
	var errs []error
	c.old = slices.DeleteFunc(c.old, func(conn *grpc.ClientConn) bool {
		unused := !slices.ContainsFunc(links, func(l *link) bool { return l != nil && l.conn == conn })
		if unused {
			errs = append(errs, conn.Close())
		}
		return unused
	})
	return errors.Join(errs...)
}

func (c *client) close() error {
	var errs []error
	for _, conn := range append(c.conns, c.old...) {
		errs = append(errs, conn.Close())
	}
	c.conns, c.old = nil, nil
	return errors.Join(errs...)
}

// link is a stream that has joined a world.
type link struct {
	conn   *grpc.ClientConn
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
	epoch   int          // of the stepper when it joined
	waiting atomic.Int32 // requests without a response

	answers chan *pb.EnvironmentResponse // that have come; it is closed when the stream has ended
	ended   error                        // why it has
}

// unread bounds the responses that have come and nobody has taken: a sequence's beginning has two.
const unread = 4

// join opens stream number i, creates a world unless there is one, and joins it. A server that is not there, or ends meanwhile, is an error, or waited for.
func (c *client) join(ctx context.Context, i int, wait bool) (*link, error) {
	for until := time.Now().Add(c.cfg.StartTimeout); ; {
		l, err := c.tryJoin(ctx, i, wait, time.Until(until).Round(time.Millisecond))
		if err == nil {
			return l, nil
		}
		if !wait || !gone(err) || time.Until(until) < 2*retryAfter || ctx.Err() != nil {
			return nil, fmt.Errorf("the server %s: %w", c.address, err)
		}
		time.Sleep(retryAfter)
	}
}

func (c *client) tryJoin(ctx context.Context, i int, wait bool, within time.Duration) (*link, error) {
	l := &link{conn: c.conn(i), world: c.cfg.World, answers: make(chan *pb.EnvironmentResponse, unread)}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	defer limit(ctx, within, l)()
	err := l.open(c, wait)
	if err != nil {
		l.cancel(err)
		return nil, err
	}
	return l, nil
}

func (l *link) open(c *client, wait bool) (err error) {
	l.waiting.Store(1) // for the connection
	if l.stream, err = pb.NewEnvironmentClient(l.conn).Process(l.ctx, grpc.WaitForReady(wait)); err != nil {
		return l.explain(err)
	}
	l.waiting.Store(0)
	go l.read()
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
	if l.ctx.Err() != nil || l.waiting.Load() > 0 || len(l.answers) > 0 {
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

// streamError is a stream that failed.
type streamError struct {
	message string
	code    codes.Code
}

func (e *streamError) Error() string {
	return fmt.Sprintf("the stream failed: %s (%v)", e.message, e.code)
}

// gone reports whether a stream failed because its server or the connection is gone.
func gone(err error) bool {
	var of *streamError
	return errors.As(err, &of) && of.code == codes.Unavailable
}

// limit gives streams up that wait for an answer after a time, those that were asked meanwhile after the same time again, and all of them when the context
// ends, until its result is called.
func limit(ctx context.Context, after time.Duration, links ...*link) (release func()) {
	var mu sync.Mutex // a release is not followed by giving up
	released := make(chan struct{})
	giveUp := func(err error, all bool) {
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-released:
			return
		default:
		}
		for _, l := range links {
			if l != nil && (all || l.waiting.Load() > 0) {
				l.cancel(err)
			}
		}
	}
	timer := time.AfterFunc(after, func() {
		for {
			giveUp(&timeoutError{after}, false)
			select {
			case <-released:
				return
			case <-time.After(after):
			}
		}
	})
	stop := context.AfterFunc(ctx, func() { giveUp(context.Cause(ctx), true) })
	return func() {
		timer.Stop()
		stop()
		mu.Lock()
		close(released)
		mu.Unlock()
	}
}

// read takes responses as they come, so that a stream that has answered is known from one that has not, until the stream ends.
func (l *link) read() {
	defer close(l.answers)
	for {
		of, err := l.stream.Recv()
		if err == nil && l.waiting.Add(-1) < 0 {
			err = fmt.Errorf("the server answers %q without a request", kindOf(of))
			l.cancel(err)
		}
		if err != nil {
			l.ended = l.explain(err)
			return
		}
		l.answers <- of // there are at most unread requests, and each has one
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
	of, ok := <-l.answers
	if !ok {
		return nil, fmt.Errorf("%s: %w", kind, l.ended)
	}
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
	return &streamError{of.Message(), of.Code()}
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
