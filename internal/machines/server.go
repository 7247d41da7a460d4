package machines

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Server is a NATS server in this process.
type Server struct {
	of  *server.Server
	url string
}

// ExposedError: a server that other machines reach, and that anybody could use, or listen to.
type ExposedError struct{ Host, Missing string }

func (e *ExposedError) Error() string {
	return fmt.Sprintf("a server at %s can be reached from other machines, and %s is missing: want both --login and a certificate (--tls-cert, --tls-key), "+
		"or 127.0.0.1", e.Host, e.Missing)
}

// ready is how long a server may take to begin.
const ready = 5 * time.Second

// Listen starts a server at an address. Beyond this machine it needs a login and a certificate, else the error is an *ExposedError.
func Listen(at Address, with Access) (*Server, error) {
	switch {
	case at.loopback():
	case with.Login == "":
		return nil, &ExposedError{at.Host, "a login"}
	case with.Cert == "" && with.Key == "":
		return nil, &ExposedError{at.Host, "a certificate"}
	}
	if with.Cert != "" || with.Key != "" {
		if err := with.checkDates(time.Now()); err != nil {
			return nil, fmt.Errorf("machines: %w", err)
		}
	}
	return listen(at, with, 0)
}

// listen starts a server with a limit of its messages; 0: 1 MiB.
func listen(at Address, with Access, payload int32) (*Server, error) {
	host, port, err := net.SplitHostPort(at.Host)
	if err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("machines: port %q: want a number", port)
	}
	if n == 0 {
		n = server.RANDOM_PORT
	}
	options := &server.Options{Host: host, Port: n, NoSigs: true, NoLog: true, MaxPayload: payload, PingInterval: 5 * time.Second, MaxPingsOut: 3}
	scheme := "nats"
	if with.Login != "" {
		if options.Username, options.Password, err = with.user(); err != nil {
			return nil, fmt.Errorf("machines: %w", err)
		}
	}
	if with.Cert != "" || with.Key != "" {
		of, err := with.certificate()
		if err != nil {
			return nil, fmt.Errorf("machines: %w", err)
		}
		options.TLS, options.TLSTimeout = true, 5
		options.TLSConfig, scheme = &tls.Config{Certificates: []tls.Certificate{of}, MinVersion: tls.VersionTLS12}, "tls"
	}
	// The server reports a port that is taken only in its log.
	if n > 0 {
		try, err := net.Listen("tcp", at.Host)
		if err != nil {
			return nil, fmt.Errorf("machines: a server of its own: %w; want another port, or 0 for a free one", err)
		}
		if err := try.Close(); err != nil {
			return nil, fmt.Errorf("machines: %w", err)
		}
	}
	of, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("machines: a server of its own: %w", err)
	}
	go of.Start()
	if !of.ReadyForConnections(ready) {
		of.Shutdown()
		return nil, errors.New("machines: the server in this process did not begin")
	}
	_, port, err = net.SplitHostPort(of.Addr().String())
	return &Server{of: of, url: scheme + "://" + net.JoinHostPort(host, port)}, err
}

// URL returns the server's address.
func (s *Server) URL() string { return s.url }

// Connect connects to the server, within the process.
func (s *Server) Connect(with Access) (*nats.Conn, error) {
	options, err := Access{Login: with.Login}.options()
	if err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	conn, err := nats.Connect("nats://in-process", append(options, nats.InProcessServer(s.of), nats.Name("evorl"), nats.MaxReconnects(-1))...)
	if err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	return conn, nil
}

// Close ends the server.
func (s *Server) Close() {
	s.of.Shutdown()
	s.of.WaitForShutdown()
}
