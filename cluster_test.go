package evorl_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/testcert"
	"github.com/evorl/evorl/vk"
)

// clustered returns a configuration that workers elsewhere can share.
func clustered(t *testing.T, opts ...evorl.Option) *evorl.Config {
	t.Helper()
	return small(t, append([]evorl.Option{evorl.Set("openes.population=20"), evorl.Set("search.slice=4"), evorl.Set("iterations=30"),
		evorl.Set("environment.time_limit=60"), evorl.Set("evaluation.every=4"), evorl.Set("network.normalize_obs=running")}, opts...)...)
}

// A run that workers elsewhere share ends with the same bits as on one device.
func TestClustered(t *testing.T) {
	dev, second, third := openDevice(t), openDevice(t), openDevice(t)
	cfg := clustered(t)
	alone := filepath.Join(t.TempDir(), "alone")
	if err := learn(t, evorl.Start, dev, cfg, alone).Close(); err != nil {
		t.Fatal(err)
	}
	run, err := evorl.Start(t.Context(), dev, cfg, filepath.Join(t.TempDir(), "run"), evorl.Clustered(evorl.ClusterConfig{Address: "nats://127.0.0.1:0"}))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	ended := make(chan error, 2)
	at := evorl.ClusterConfig{Address: run.WorkersAddress()}
	go func() { ended <- evorl.Work(t.Context(), second, at, nil, func(text string) { t.Log(text) }) }()
	go func() { ended <- evorl.Work(t.Context(), third, at, nil, nil) }()
	err = run.Learn(t.Context(), func(ctx context.Context, r engine.Report) error {
		for r.Iteration == 2 && run.Taking() < 3 {
			time.Sleep(time.Millisecond)
		}
		for r.Iteration == 20 && run.Workers()[1].Slices+run.Workers()[2].Slices == 0 {
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	for range 2 {
		if err := <-ended; err != nil {
			t.Errorf("a worker ends with %v", err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := run.Workers(); len(got) != 3 || got[1].Name == "" || got[1].Device != second.Info().Name || got[2].Outcome != "" {
		t.Errorf("workers %+v; want three, two of them named", got)
	}
	if got, want := digestOf(t, run.Path()), digestOf(t, alone); got != want {
		t.Errorf("with two workers it ends with %s; want %s, as alone", got, want)
	}
}

// A worker waits while its run is interrupted, also if it has begun before the run, and takes part when that is resumed. What it is sent is what the program
// contains.
func TestClusteredResumed(t *testing.T) {
	dev, second := openDevice(t), openDevice(t)
	cfg := clustered(t)
	alone := filepath.Join(t.TempDir(), "alone")
	if err := learn(t, evorl.Start, dev, cfg, alone).Close(); err != nil {
		t.Fatal(err)
	}
	path, at := filepath.Join(t.TempDir(), "run"), evorl.ClusterConfig{Address: "nats://127.0.0.1:0"}
	ended := make(chan error, 1)
	for session, begin := range []func(context.Context, *vk.Device, *evorl.Config, string, ...evorl.RunOption) (*evorl.Run, error){evorl.Start, evorl.Resume} {
		run, err := begin(t.Context(), dev, cfg, path, evorl.Clustered(at))
		if err != nil {
			t.Fatal(err)
		}
		address := run.WorkersAddress()
		if session == 0 {
			go func() { ended <- evorl.Work(t.Context(), second, evorl.ClusterConfig{Address: address}, nil, nil) }()
			at.Address = "embed" + strings.TrimPrefix(address, "nats")
		}
		ctx, stop := context.WithCancel(t.Context())
		err = run.Learn(ctx, func(_ context.Context, r engine.Report) error {
			for run.Taking() < 2 {
				time.Sleep(time.Millisecond)
			}
			if r.Iteration == 10 {
				stop()
			}
			return nil
		})
		stop()
		if session == 0 != errors.Is(err, context.Canceled) || session == 1 && err != nil {
			t.Errorf("session %d ends with %v", session, err)
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("the worker ends with %v", err)
	}
	if got, want := digestOf(t, path), digestOf(t, alone); got != want {
		t.Errorf("interrupted and resumed it ends with %s; want %s, as alone", got, want)
	}
}

// A run with a login and a certificate takes the worker that has the login and trusts the certificate. Others end at once.
func TestClusteredSecure(t *testing.T) {
	dev, second := openDevice(t), openDevice(t)
	authority := testcert.NewAuthority(t, "authority")
	cert, key := authority.Server("127.0.0.1", time.Now().Add(time.Hour))
	login := func(text string) string {
		path := filepath.Join(t.TempDir(), "login.txt")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right := login("evorl:secret")
	run, err := evorl.Start(t.Context(), dev, clustered(t), filepath.Join(t.TempDir(), "run"),
		evorl.Clustered(evorl.ClusterConfig{Address: "embed://127.0.0.1:0", Login: right, Cert: cert, Key: key}))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	for _, of := range []struct {
		at   evorl.ClusterConfig
		want string
	}{
		{evorl.ClusterConfig{Login: login("evorl:guess"), CA: authority.File}, "--login"},
		{evorl.ClusterConfig{Login: right}, "--tls-ca"},
	} {
		of.at.Address = run.WorkersAddress()
		if err := evorl.Work(t.Context(), second, of.at, nil, nil); err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%+v: %v; want an error with %q", of.at, err, of.want)
		}
	}
	ended := make(chan error, 1)
	go func() {
		ended <- evorl.Work(t.Context(), second, evorl.ClusterConfig{Address: run.WorkersAddress(), Login: right, CA: authority.File}, nil, nil)
	}()
	err = run.Learn(t.Context(), func(context.Context, engine.Report) error {
		for run.Taking() < 2 {
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the worker ends with %v", err)
	}
	if got := run.Workers(); len(got) != 2 || got[1].Outcome != "" {
		t.Errorf("workers %+v; want two", got)
	}
}

// What workers elsewhere cannot share is refused before any device work, by the key that would be right.
func TestClusteredRefused(t *testing.T) {
	dev := openDevice(t)
	of := func(env string, opts ...evorl.Option) *evorl.Config {
		t.Helper()
		cfg, err := evorl.New("openes", env, append(opts, evorl.Set("search.slice=4"))...)
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	local := evorl.ClusterConfig{Address: "nats://127.0.0.1:0"}
	for _, of := range []struct {
		cfg  *evorl.Config
		at   evorl.ClusterConfig
		want string
	}{
		{of("configs/point.glsl"), local, "is a file"},
		{small(t), local, "such as 64"},
		{clustered(t), evorl.ClusterConfig{Address: "embed://0.0.0.0:0"}, "a login is missing"},
		{clustered(t), evorl.ClusterConfig{Address: "http://host"}, "nats://"},
		{clustered(t), evorl.ClusterConfig{Address: "nats://127.0.0.1:1"}, "127.0.0.1:1"},
	} {
		path := filepath.Join(t.TempDir(), "run")
		if _, err := evorl.Start(t.Context(), dev, of.cfg, path, evorl.Clustered(of.at)); err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%+v: %v; want an error with %q", of.at, err, of.want)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the run directory exists: %v", err)
		}
	}
	for address, want := range map[string]string{"embed": "nats://host:4222", "nats://127.0.0.1:0": "nats://host:4222", "x": "want embed"} {
		if err := evorl.Work(t.Context(), dev, evorl.ClusterConfig{Address: address}, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a worker at %s: %v; want an error with %q", address, err, want)
		}
	}
}
