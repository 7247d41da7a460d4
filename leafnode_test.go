package evorl_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/internal/testcert"
)

// serverOf starts a server with the configuration of an example, in which parts are replaced.
func serverOf(t *testing.T, example string, replaced ...string) (*server.Server, *server.Options) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("docs", "examples", "cluster", example))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), example)
	if err := os.WriteFile(path, []byte(strings.NewReplacer(replaced...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	options.NoSigs, options.NoLog = true, true
	of, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	go of.Start()
	t.Cleanup(func() {
		of.Shutdown()
		of.WaitForShutdown()
	})
	if !of.ReadyForConnections(10 * time.Second) {
		t.Fatalf("the server of %s did not begin", example)
	}
	return of, options
}

// Runs of searches and of members end with the same bits with workers at a leaf node of the server, as in the example, to which the results of a search come
// once for all its workers.
func TestLeafNode(t *testing.T) {
	authority := testcert.NewAuthority(t, "evorl's test")
	cert, key := authority.Server("127.0.0.1", time.Now().Add(time.Hour))
	hub, at := serverOf(t, "hub.conf", "0.0.0.0:4222", "127.0.0.1:-1", "0.0.0.0:7422", "127.0.0.1:-1", "cert.pem", cert, "key.pem", key, "LEAF-PASSWORD", "leafs",
		"PASSWORD", "secret")
	leaf, _ := serverOf(t, "leaf.conf", "127.0.0.1:4222", "127.0.0.1:-1", "HUB:7422", fmt.Sprint("127.0.0.1:", at.LeafNode.Port), "ca.pem", authority.File,
		"LEAF-PASSWORD", "leafs")
	for end := time.Now().Add(10 * time.Second); hub.NumLeafNodes() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the leaf node does not connect")
		}
	}
	login := filepath.Join(t.TempDir(), "login.txt")
	if err := os.WriteFile(login, []byte("evorl:secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	dev, second, third := openDevice(t), openDevice(t), openDevice(t)
	members, err := evorl.New("ppo", "CartPole-v1", evorl.Set("network.hidden=[4]"), evorl.Set("ppo.members=3"), evorl.Set("ppo.environments=2"),
		evorl.Set("ppo.rollout_length=8"), evorl.Set("ppo.epochs=1"), evorl.Set("ppo.minibatches=2"), evorl.Set("members.slice=1"), evorl.Set("iterations=10"),
		evorl.Set("evaluation.episodes=2"))
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]*evorl.Config{"search": clustered(t), "members": members} {
		alone := filepath.Join(t.TempDir(), "alone")
		if err := learn(t, evorl.Start, dev, cfg, alone).Close(); err != nil {
			t.Fatal(err)
		}
		run, err := evorl.Start(t.Context(), dev, cfg, filepath.Join(t.TempDir(), "run"), evorl.Clustered(evorl.ClusterConfig{
			Address: strings.Replace(hub.ClientURL(), "nats://", "tls://", 1) + "/" + name, Login: login, CA: authority.File}))
		if err != nil {
			t.Fatal(err)
		}
		there := evorl.ClusterConfig{Address: leaf.ClientURL() + "/" + name}
		ended := make(chan error, 2)
		go func() { ended <- evorl.Work(t.Context(), second, there, nil, nil) }()
		go func() { ended <- evorl.Work(t.Context(), third, there, nil, nil) }()
		err = run.Learn(t.Context(), func(_ context.Context, r engine.Report) error {
			for run.Taking() < 3 {
				time.Sleep(time.Millisecond)
			}
			if r.Iteration == 29 && name == "search" {
				of, err := hub.Leafz(nil)
				if err != nil || len(of.Leafs) != 1 {
					return fmt.Errorf("leaf nodes %+v, %w; want one", of, err)
				}
				// Each request has one reply; more are results, of a generation each.
				if n := of.Leafs[0].OutMsgs - of.Leafs[0].InMsgs; n > 35 {
					t.Errorf("%d messages to the leaf node besides replies in 30 generations; want the results once for both workers", n)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("%s: a worker ends with %v", name, err)
			}
		}
		if err := run.Close(); err != nil {
			t.Error(err)
		}
		if got, want := digestOf(t, run.Path()), digestOf(t, alone); got != want {
			t.Errorf("%s: with workers at a leaf it ends with %s; want %s, as alone", name, got, want)
		}
	}
}
