package machines

import (
	"bytes"
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

// Connect connects to a server, and again whenever the connection is lost. With wait, it also waits for a server that is not there yet.
func Connect(server string, with Access, wait bool) (*nats.Conn, error) {
	options, err := with.options()
	if err != nil {
		return nil, fmt.Errorf("machines: %w", err)
	}
	options = append(options, nats.Name("evorl"), nats.MaxReconnects(-1), nats.ReconnectWait(again), nats.PingInterval(5*time.Second),
		nats.RetryOnFailedConnect(wait), nats.IgnoreAuthErrorAbort())
	conn, err := nats.Connect(server, options...)
	if err != nil {
		return nil, fmt.Errorf("machines: server %s: %w", server, err)
	}
	return conn, nil
}
