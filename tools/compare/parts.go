package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// parts lists everything to run, in the order in which it runs: what peers there are, tests, and then benches, each with the peers that it is
// compared with right behind it. The parts that are first have one peer of each script.
func parts(o options, bin string, on device) []part {
	all := []part{about(o, on)}
	var late []part
	if o.tests {
		for _, t := range tested {
			switch p := t.part(bin, on); {
			case o.quick && t.pkg != "engine/nn" && t.pkg != "rl":
			case t.limit > 0:
				late = append(late, p)
			default:
				all = append(all, p)
			}
		}
	}
	return slices.Concat(all, pairs(o, bin, on), late)
}

// pairs lists benches and peers: first those of the most important peer of each script, then the other peers, then the benches without peers.
func pairs(o options, bin string, on device) (all []part) {
	begun := map[string]bool{} // benches that are in the list
	add := func(b benchRun, first bool) {
		if !begun[b.name] && b.cases(o.quick) != "" {
			begun[b.name] = true
			all = append(all, b.part(o, bin, on, first))
		}
	}
	add(benches[0], true) // the device's limits
	scripts := map[string]bool{}
	var wanted, others []peer
	for _, p := range peers {
		switch {
		case p.quick != o.quick:
		case scripts[p.script]:
			others = append(others, p)
		default:
			scripts[p.script] = true
			wanted = append(wanted, p)
		}
	}
	for i, p := range append(wanted, others...) {
		for _, of := range p.beside {
			if b, ok := benchOf(of.bench, o.quick); ok {
				add(b, i < len(wanted))
			}
		}
		all = append(all, p.part(o, on, i < len(wanted)))
	}
	for _, b := range benches {
		add(b, false)
	}
	return all
}

// benchOf returns the bench that measures a case.
func benchOf(name string, quick bool) (benchRun, bool) {
	at := slices.IndexFunc(benches, func(b benchRun) bool { return b.measures(name, quick) })
	if at < 0 {
		return benchRun{}, false
	}
	return benches[at], true
}

// part returns the part that runs the tests.
func (t testedPackage) part(bin string, on device) part {
	name := "test " + t.pkg
	if t.limit > 0 {
		name += " " + t.run
	}
	return part{
		name: name, kind: testKind, limit: t.limit, dir: filepath.FromSlash(t.pkg), env: onDevice(on),
		argv: []string{absolute(filepath.Join(bin, testName(t.pkg))), "-test.v", "-test.run", t.run},
	}
}

func onDevice(on device) []string { return []string{fmt.Sprintf("EVORL_DEVICE=%d", on.Index)} }

func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// benches are separate runs of suites, so that one failure does not affect the others; those without peers run in this order.
var benches = append([]benchRun{
	{"core", "core", "fma_peak,copy_bandwidth,submit_latency,gemm,cartpole", "fma_peak,copy_bandwidth,submit_latency,gemm/p64,cartpole/mlp"},
	{"ppo", "core", "ppo/,pbt/", "ppo/p1"},
	{"openes 64x64", "ec", "openes/64x64", ""},
	{"openes 256x256", "ec", "openes/256x256", ""},
	{"openes 16x16", "ec", "openes/16x16", "openes/16x16/p512"},
	{"updates of td3", "rl", "td3", "td3/64x64/p1/"},
	{"updates of sac", "rl", "sac", ""},
	{"updates of dqn", "rl", "dqn", ""},
	{"acting", "placement", "act", "act/cartpole/e64/"},
	{"hybrid", "hybrid", "erl/pendulum/64x64/p64,cem-rl/pendulum/64x64/p64,pbt-sac/pendulum/64x64/p64,pbt-ppo/pendulum/64x64/p64", ""},
}, append(robots(), []benchRun{
	{"placement", "ec", "placement", ""},
	{"cma-es", "ec", "cma-es", ""},
	{"images and memory", "rl", "ppo,minatar", ""},
	{"convolutions", "core", "conv", ""},
	{"agents", "agents", "ppo/spread,spread,pgpe,pong", ""},
	{"swimmers", "hybrid", "erl/64x64,cem-rl/64x64,pbt-sac/64x64,pbt-ppo/64x64", ""},
	{"score", "score", "openes,td3", ""},
}...)...)

// benchRun is a run of a suite's cases.
type benchRun struct {
	name, suite string
	only, quick string // beginnings of cases' names, with commas between them; "": none
}

// benchLimit is what a bench takes where pipelines compile quickly.
const benchLimit = 15 * time.Second

// robots lists the physics environments, starting with those that peers also run.
func robots() (out []benchRun) {
	for i, name := range []string{
		"HalfCheetah", "Hopper", "Ant", "Humanoid", "Walker2d", "Swimmer", "Reacher", "InvertedPendulum", "InvertedDoublePendulum",
		"Pusher", "HumanoidStandup",
	} {
		short := strings.ToLower(name)
		b := benchRun{name: short, suite: "physics", only: short + "/"}
		if i == 0 {
			b.quick = short + "/w64"
		}
		out = append(out, b)
	}
	return out
}

func (b benchRun) cases(quick bool) string {
	if quick {
		return b.quick
	}
	return b.only
}

// measures tells whether the bench measures a case, by its name: names that peers have beside them are of one suite.
func (b benchRun) measures(name string, quick bool) bool {
	return b.cases(quick) != "" && slices.ContainsFunc(strings.Split(b.cases(quick), ","), func(begin string) bool { return strings.HasPrefix(name, begin) })
}

func (b benchRun) part(o options, bin string, on device, first bool) part {
	each := "1s"
	if o.quick {
		each = "200ms"
	}
	return part{
		name: "bench " + b.name, kind: benchKind, limit: benchLimit, first: first,
		env:  append(onDevice(on), "__GL_SHADER_DISK_CACHE=0"), // NVIDIA's driver caches pipelines by itself, which would hide the time to compile
		argv: []string{filepath.Join(bin, measureName), "bench", "-suite", b.suite, "-only", b.cases(o.quick), "-time", each},
	}
}

// about tells which of the peers' packages there are, in a few seconds, before anything takes minutes.
func about(o options, on device) part {
	return part{
		name: importPart, kind: peerKind, limit: 20 * time.Second, first: true, env: peerEnv(on, ""),
		argv: []string{o.python, filepath.Join("tools", "peers", "about.py"), "--json"},
	}
}

// importPart is the name of the part that imports the peers' packages.
const importPart = "peers: import"

func (p peer) part(o options, on device, first bool) part {
	argv := append([]string{o.python, filepath.Join("tools", "peers", p.script), "--json"}, p.args...)
	return part{name: p.name, kind: peerKind, limit: p.limit, first: first, env: peerEnv(on, p.precision), argv: argv}
}

// peerEnv has the peers run on the same device as evorl and, unless a precision is asked for, multiply in float32 as evorl does: by default JAX
// rounds factors to 10 bits on GPUs that have units for it. MuJoCo loads no library for windows.
func peerEnv(on device, precision string) []string {
	env := []string{"PYTHONUNBUFFERED=1", "MUJOCO_GL=disable"}
	switch {
	case !on.gpu():
		return append(env, "JAX_PLATFORMS=cpu")
	case on.Vendor == "NVIDIA":
		env = append(env, "JAX_PLATFORMS=cuda") // else JAX runs on the processor if its package for GPUs is missing
	}
	if precision == "" {
		precision = "highest"
	}
	if _, set := os.LookupEnv(precisionVariable); set {
		return env
	}
	return append(env, precisionVariable+"="+precision)
}

const precisionVariable = "JAX_DEFAULT_MATMUL_PRECISION"
