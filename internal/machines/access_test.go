package machines

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/evorl/evorl/internal/testcert"
)

func login(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "login.txt")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Who has the login and trusts the certificate can use a server; others are refused at once, also where they would wait for a server, by what would be right.
func TestAccess(t *testing.T) {
	ours, theirs := testcert.NewAuthority(t, "ours"), testcert.NewAuthority(t, "theirs")
	right, wrong := login(t, "evorl:secret"), login(t, "evorl:guess")
	local := Address{Host: "127.0.0.1:0"}
	certified := func(address string, left time.Duration) Access {
		cert, key := ours.Server(address, time.Now().Add(left))
		return Access{Cert: cert, Key: key}
	}
	valid, expired, other := certified("127.0.0.1", time.Hour), certified("127.0.0.1", -time.Minute), certified("127.0.0.2", time.Hour)
	begin := func(with Access, check bool) string {
		t.Helper()
		with.Login = right
		start := func(at Address, with Access) (*Server, error) { return listen(at, with, 0) }
		if check {
			start = Listen
		}
		s, err := start(local, with)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		if conn, err := s.Connect(with); err != nil {
			t.Errorf("the coordinator itself: %v", err)
		} else {
			conn.Close()
		}
		return s.URL()
	}
	url := begin(valid, true)
	if !strings.HasPrefix(url, "tls://127.0.0.1:") {
		t.Errorf("its address is %s; want one with tls", url)
	}
	plain := begin(Access{}, true)
	for _, of := range []struct {
		url  string
		with Access
		want string // of the error; "": none
	}{
		{url, Access{Login: right, CA: ours.File}, ""},
		{"nats" + strings.TrimPrefix(url, "tls"), Access{Login: right, CA: ours.File}, ""},
		{url, Access{Login: wrong, CA: ours.File}, "--login"},
		{url, Access{CA: ours.File}, "--login"},
		{url, Access{Login: right}, "--tls-ca"},
		{url, Access{Login: right, CA: theirs.File}, "--tls-ca"},
		{begin(expired, false), Access{Login: right, CA: ours.File}, "expired"},
		{begin(other, true), Access{Login: right, CA: ours.File}, "127.0.0.2"},
		{plain, Access{Login: right}, ""},
		{plain, Access{Login: wrong}, "--login"},
		{plain, Access{Login: right, CA: ours.File}, "without TLS"},
	} {
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		conn, err := Connect(ctx, of.url, of.with, func(err error) { t.Errorf("%s by %+v waits: %v", of.url, of.with, err) })
		stop()
		var refused *AccessError
		switch {
		case of.want == "" && err != nil:
			t.Errorf("%s by %+v: %v", of.url, of.with, err)
		case of.want == "":
			if err := conn.Flush(); err != nil {
				t.Error(err)
			}
			conn.Close()
		case !errors.As(err, &refused) || !strings.Contains(err.Error(), of.want) || strings.Contains(err.Error(), "guess"):
			t.Errorf("%s by %+v: %v; want an *AccessError with %q", of.url, of.with, err, of.want)
		default:
			t.Log(err)
		}
	}
	expired.Login = right
	if _, err := Listen(local, expired); err == nil || !strings.Contains(err.Error(), "valid from") {
		t.Errorf("a server with a certificate that has expired: %v", err)
	}
	if _, err := Listen(local, Access{Login: right, Cert: valid.Cert, Key: expired.Key}); err == nil || !strings.Contains(err.Error(), "private key") {
		t.Errorf("a server with a certificate and the key of another: %v", err)
	}
}

// A server that comes back with another login ends the worker, instead of letting it wait.
func TestOtherLogin(t *testing.T) {
	first, then := login(t, "evorl:secret"), login(t, "evorl:other")
	s, err := Listen(Address{Host: "127.0.0.1:0"}, Access{Login: first})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	conn, err := Connect(ctx, s.URL(), Access{Login: first}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	l, err := NewLink(conn, "test", "a", identity, quick, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	host := strings.TrimPrefix(s.URL(), "nats://")
	s.Close()
	if s, err = Listen(Address{Host: host}, Access{Login: then}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var refused *AccessError
	if _, err := l.Hello(ctx); !errors.As(err, &refused) || !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("%v; want an *AccessError", err)
	}
}
