package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// parts lists everything to run, most important first. Parts without time left are skipped.
func parts(o options, bin string, on device) []part {
	env := []string{fmt.Sprintf("EVORL_DEVICE=%d", on.Index)}
	var all []part
	for _, t := range tested {
		if o.quick && t.pkg != "engine/nn" && t.pkg != "rl" {
			continue
		}
		all = append(all, part{
			name: "test " + t.pkg, tests: true, dir: filepath.FromSlash(t.pkg), env: env,
			argv: []string{absolute(filepath.Join(bin, testName(t.pkg))), "-test.v", "-test.run", t.run},
		})
	}
	// NVIDIA's driver caches pipelines by itself, which would hide the time to compile.
	env = append(env, "__GL_SHADER_DISK_CACHE=0")
	for _, b := range benches {
		seconds, only := "1", b.only
		if o.quick {
			seconds, only = "0.2", b.quick
		}
		if only == "" {
			continue
		}
		all = append(all, part{
			name: "bench " + b.name, limit: b.limit, env: env,
			argv: []string{filepath.Join(bin, "evorl"), "bench", "--suite", b.suite, "--only", only, "--seconds", seconds, "--profile", "--json"},
		})
	}
	// The peers run on the same device as evorl.
	env = []string{"PYTHONUNBUFFERED=1"}
	if !on.gpu() {
		env = append(env, "JAX_PLATFORMS=cpu")
	}
	for _, p := range peers {
		if p.quick != o.quick {
			continue
		}
		argv := append([]string{o.python, filepath.Join("tools", "peers", p.script), "--json"}, p.args...)
		all = append(all, part{name: p.name, limit: p.limit, env: env, argv: argv})
	}
	return all
}

func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// benches are separate runs of evorl bench, so that one failure does not affect the others.
var benches = append([]benchRun{
	{"core", "core", "fma_peak,copy_bandwidth,submit_latency,gemm,cartpole", "fma_peak,copy_bandwidth,submit_latency,gemm/p64,cartpole/mlp", time.Minute},
	{"ppo", "core", "ppo,pbt", "ppo/p1", time.Minute},
	{"updates of td3", "rl", "td3", "td3/64x64/p1/", time.Minute},
	{"updates of sac", "rl", "sac", "", time.Minute},
	{"updates of dqn", "rl", "dqn", "", time.Minute},
	{"openes 16x16", "ec", "openes/16x16", "openes/16x16/p512", time.Minute},
	{"openes 64x64", "ec", "openes/64x64", "", time.Minute},
	{"openes 256x256", "ec", "openes/256x256", "", time.Minute},
	{"placement", "ec", "placement", "", time.Minute},
	{"cma-es", "ec", "cma-es", "", time.Minute},
}, robots()...)

type benchRun struct {
	name, suite string
	only, quick string // regular expressions of cases; "": none
	limit       time.Duration
}

// robots lists the physics environments, starting with those that peers also run.
func robots() (out []benchRun) {
	for i, name := range []string{
		"HalfCheetah", "Hopper", "Ant", "Humanoid", "Walker2d", "Swimmer", "Reacher", "InvertedPendulum", "InvertedDoublePendulum",
		"Pusher", "HumanoidStandup",
	} {
		short := strings.ToLower(name)
		b := benchRun{name: short, suite: "physics", only: short, limit: time.Minute}
		if i == 0 {
			b.quick = short + "/w64"
		}
		out = append(out, b)
	}
	return out
}
