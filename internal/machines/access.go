package machines

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

// Access is by what a process may use a server. All are paths of files; "": none.
type Access struct {
	Login       string // USER:PASSWORD
	Credentials string // a .creds file, of a server with accounts
	CA          string // PEM of the certificates that servers are trusted by; "": the system's
	Cert, Key   string // PEM of the own certificate, which a server needs
}

// user reads the login.
func (a Access) user() (user, password string, err error) {
	text, err := os.ReadFile(a.Login)
	if err != nil {
		return "", "", err
	}
	name, secret, ok := bytes.Cut(bytes.TrimSpace(text), []byte(":"))
	if !ok || len(name) == 0 || len(secret) == 0 {
		return "", "", fmt.Errorf("%s: want one line, USER:PASSWORD", a.Login)
	}
	return string(name), string(secret), nil
}

// certificate reads the own certificate.
func (a Access) certificate() (tls.Certificate, error) {
	if a.Cert == "" || a.Key == "" {
		return tls.Certificate{}, errors.New("a certificate without its key, or the reverse: want both")
	}
	return tls.LoadX509KeyPair(a.Cert, a.Key)
}

// checkDates refuses a certificate that no worker accepts.
func (a Access) checkDates(now time.Time) error {
	of, err := a.certificate()
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(of.Certificate[0])
	if err != nil {
		return err
	}
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return fmt.Errorf("%s: the certificate is valid from %s to %s: want one that is valid now", a.Cert, leaf.NotBefore.Format(time.DateTime),
			leaf.NotAfter.Format(time.DateTime))
	}
	return nil
}

// options returns the options of a connection.
func (a Access) options() ([]nats.Option, error) {
	var all []nats.Option
	if a.Login != "" {
		user, password, err := a.user()
		if err != nil {
			return nil, err
		}
		all = append(all, nats.UserInfo(user, password))
	}
	if a.Credentials != "" {
		if _, err := os.Stat(a.Credentials); err != nil {
			return nil, err
		}
		all = append(all, nats.UserCredentials(a.Credentials))
	}
	if a.CA != "" {
		text, err := os.ReadFile(a.CA)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: no certificate in it; want PEM", a.CA)
		}
		all = append(all, nats.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}))
	}
	return all, nil
}

// AccessError: a server that this process may not use, or does not trust. Trying again does not help.
type AccessError struct {
	Server string
	Err    error
	Want   string // what would be right
}

func (e *AccessError) Error() string {
	return fmt.Sprintf("server %s: %v: want %s", e.Server, e.Err, e.Want)
}

// Unwrap returns the cause.
func (e *AccessError) Unwrap() error { return e.Err }

// refusal returns an *AccessError for an error of a connection that will not pass by itself, and other errors as they are.
func refusal(server string, err error) error {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	want := ""
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		want = "--login FILE with the USER:PASSWORD that the server has, or --creds FILE"
	case errors.As(err, &unknown):
		want = "--tls-ca FILE with the certificate of the server, or of the authority that has signed it"
	case errors.As(err, &host):
		want = "a certificate of the server for the name or address by which it is reached"
	case errors.As(err, &invalid):
		want = "a valid certificate of the server"
	case errors.Is(err, nats.ErrSecureConnWanted):
		want = "nats:// for a server without TLS"
	default:
		return fmt.Errorf("server %s: %w", server, err)
	}
	return &AccessError{server, err, want}
}

// Connect connects to a server, and again whenever the connection is lost. If waiting is not nil, it waits for a server that is not there yet, and calls
// waiting once, with why.
func Connect(ctx context.Context, server string, with Access, waiting func(error)) (*nats.Conn, error) {
	options, err := with.options()
	if err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	options = append(options, nats.Name("evorl"), nats.MaxReconnects(-1), nats.ReconnectWait(again), nats.PingInterval(5*time.Second),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // requests report them
	for told := false; ; told = true {
		conn, err := nats.Connect(server, options...)
		if err == nil {
			return conn, nil
		}
		err = refusal(server, err)
		var refused *AccessError
		switch {
		case errors.As(err, &refused), waiting == nil:
			return nil, fmt.Errorf("machines: %w", err)
		case !told:
			waiting(err)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(again):
		}
	}
}
