package machines

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
)

// A file that does not exist gets a key, which only its owner reads; what is no user's key is refused.
func TestOpenKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	made, err := OpenKey(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := OpenKey(path)
	if err != nil || again.Public() != made.Public() || CheckPublic(made.Public()) != nil {
		t.Errorf("read again it is %q (%v); want %q", again.Public(), err, made.Public())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v); want 0600", info.Mode(), err)
	}
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := account.Seed()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"empty": "", "account": string(seed), "public": made.Public(), "long": strings.Repeat("x", 2000)} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenKey(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v; want an error that names the file", name, err)
		}
	}
	if _, err := OpenKey(filepath.Join(path, "below")); err == nil {
		t.Error("a path through a file: no error")
	}
	if _, err := OpenKey(t.TempDir()); err == nil {
		t.Error("a folder: no error")
	}
}

// A worker hears who has signed what it is to execute, and refuses what another one has changed, or what was signed for another run or session.
func TestSigned(t *testing.T) {
	s := newSite(t, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	key, err := OpenKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := OpenKey(filepath.Join(t.TempDir(), "other"))
	if err != nil {
		t.Fatal(err)
	}
	config, source := []byte(strings.Repeat("settings\n", 100)), []byte(strings.Repeat("void f() {}\n", 100))
	serve := func(key *Key) *Host {
		s.host.Close()
		s.host, err = Serve(s.connect(), Run{Name: "test", Config: config, Source: source, Key: key, Digest: "d", Identity: identity}, s.c, quick)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.host.Close)
		return s.host
	}
	l, _ := s.link("a", identity)
	old := serve(key)
	hello, err := l.Hello(ctx)
	if err != nil || hello.Signer != key.Public() || !bytes.Equal(hello.Config, config) || !bytes.Equal(hello.Source, source) {
		t.Fatalf("hello %+v (%v); want both texts, signed by %s", hello, err, key.Public())
	}
	for name, change := range map[string]func(h *Host){
		"configuration": func(h *Host) { h.hail = joined([][]byte{append([]byte("x"), config...), source}) },
		"source":        func(h *Host) { h.hail = joined([][]byte{config, append([]byte("x"), source...)}) },
		"moved text": func(h *Host) { // from one to the other
			h.hail = joined([][]byte{append(bytes.Clone(config), source[0]), source[1:]})
		},
		"signer":       func(h *Host) { h.run.Key = other },
		"no signature": func(h *Host) { h.proof = nil },
		"session":      func(h *Host) { h.proof = old.proof },
		"run": func(h *Host) {
			h.proof, _ = key.sign(statement("other", h.epoch, config, source))
		},
	} {
		change(serve(key))
		if hello, err := l.Hello(ctx); err == nil || !strings.Contains(err.Error(), "signature") {
			t.Errorf("another %s: %+v (%v); want it refused", name, hello, err)
		}
	}
	serve(nil)
	if hello, err := l.Hello(ctx); err != nil || hello.Signer != "" {
		t.Errorf("without a key: %+v (%v); want no signer", hello, err)
	}
}
