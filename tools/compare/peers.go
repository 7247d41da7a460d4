package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// peer is a run of a script in tools/peers that writes one line of JSON, with the evorl bench cases to compare it with.
type peer struct {
	name      string
	script    string
	args      []string
	quick     bool // with the small sizes, else the full ones
	limit     time.Duration
	precision string // of JAX's products; "": float32, as evorl's
	beside    []beside
}

// beside is a figure measured by both: a case of evorl bench and the fields of the peer's line whose sum corresponds
// to it.
type beside struct {
	what   string
	bench  string
	fields []string
	time   string // the unit of a time, where less is better; "" for a rate
}

// What peers take on a GPU, mostly to compile.
const (
	peerLimit = 30 * time.Second
	slowLimit = time.Minute // programs that XLA compiles slowly
)

// peers lists all peers, most important first.
var peers = allPeers()

func allPeers() (all []peer) {
	all = append(all, ppo(256, 50_000), openES(64, 4096, 3), updates("td3", []int{256, 256}, 256, 10), mjx("HalfCheetah", 4096, 16))
	all = append(all, mujoco("HalfCheetah", 4096), acting(16384), lowRank(128), hybrids("erl", 64), pbt("ppo", 64))
	all = append(all, openES(256, 32768, 3), updates("sac", []int{256, 256}, 256, 10), mjx("Hopper", 4096, 16))
	all = append(all, lessPrecise(updates("td3", []int{256, 256}, 256, 10)), lessPrecise(openES(256, 32768, 3)))
	all = append(all, updates("dqn", []int{120, 84}, 128, 10), ppo(1, 50_000), ppo(2048, 50_000), mjx("HalfCheetah", 65536, 16))
	all = append(all, openES(256, 128, 3), openES(16, 8192, 3), lowRank(1024))
	for _, members := range []int{80, 1} {
		all = append(all, updates("td3", []int{256, 256}, 256, members), updates("sac", []int{256, 256}, 256, members))
		all = append(all, updates("dqn", []int{120, 84}, 128, members))
	}
	all = append(all, acting(1024), acting(64), hybrids("cem-rl", 64), pbt("sac", 64))
	for _, name := range []string{"Ant", "Humanoid"} {
		all = append(all, mjx(name, 4096, 16))
	}
	for _, name := range []string{"Hopper", "Ant", "Humanoid"} {
		all = append(all, mujoco(name, 4096), mjx(name, 65536, 16))
	}
	small := []peer{ppo(1, 20_000), openES(16, 512, 1), updates("td3", []int{64, 64}, 64, 1), acting(64)}
	for _, p := range append(small, mjx("HalfCheetah", 64, 2), mujoco("HalfCheetah", 64)) {
		p.name, p.quick = "quick "+p.name, true
		all = append(all, p)
	}
	return all
}

func ppo(members, steps int) peer {
	p := peer{
		name: fmt.Sprintf("jax ppo p%d", members), script: "ppo_jax.py", limit: peerLimit,
		args:   []string{"--members", fmt.Sprint(members), "--steps", fmt.Sprint(steps)},
		beside: []beside{{fmt.Sprintf("PPO on CartPole, %s", plural(members, "member")), fmt.Sprintf("ppo/p%d", members), []string{"steps_per_second"}, ""}},
	}
	if members == 256 {
		p.beside = append(p.beside, beside{
			"PPO, 256 members: start-up and compiling" + startNote, "ppo/p256/start", []string{"start_up_seconds", "compile_seconds"}, "s",
		})
	}
	return p
}

// startNote says what evorl's cases of start-up leave out.
const startNote = " (evorl: as the second device of a process that runs already; the peer: from the start of its process)"

func openES(units, population, generations int) peer {
	p := peer{
		name: fmt.Sprintf("jax openes %dx%d p%d", units, units, population), script: "openes_jax.py", limit: peerLimit,
		args: []string{"--population", fmt.Sprint(population), "--generations", fmt.Sprint(generations), "--hidden", fmt.Sprint(units), fmt.Sprint(units)},
		beside: []beside{{
			fmt.Sprintf("OpenES on swing-up, [%d, %d], %d candidates: a generation", units, units, population),
			fmt.Sprintf("openes/%dx%d/p%d", units, units, population),
			[]string{"generation_seconds"}, "s",
		}},
	}
	if units == 64 {
		p.beside = append(p.beside, beside{
			"OpenES, [64, 64], 4096 candidates: until the first generation" + startNote, "openes/64x64/p4096/start",
			[]string{"to_first_generation_seconds"}, "s",
		})
	}
	return p
}

// lessPrecise is the same peer with the precision that JAX has by default on its device.
func lessPrecise(p peer) peer {
	p.name, p.precision, p.beside = p.name+", its default precision", "default", slices.Clone(p.beside)
	for i := range p.beside {
		p.beside[i].what += " (the peer's default precision)"
	}
	return p
}

// lowRank is OpenES of rank 1 with large networks.
func lowRank(population int) peer {
	return peer{
		name: fmt.Sprintf("jax openes rank 1 256x256 p%d", population), script: "lowrank_jax.py", limit: peerLimit,
		args: []string{"--population", fmt.Sprint(population), "--generations", "3"},
		beside: []beside{{
			fmt.Sprintf("OpenES of rank 1 on swing-up, [256, 256], %d candidates: a generation", population),
			fmt.Sprintf("openes/256x256/p%d/rank1", population), []string{"generation_seconds"}, "s",
		}},
	}
}

// updates returns the updates of a population, 50 per call.
func updates(algorithm string, hidden []int, batch, members int) peer {
	return peer{
		name: fmt.Sprintf("jax %s %dx%d p%d", algorithm, hidden[0], hidden[1], members), script: "offpolicy_jax.py", limit: peerLimit,
		args: []string{
			"--algorithm", algorithm, "--members", fmt.Sprint(members), "--hidden", fmt.Sprint(hidden[0]), fmt.Sprint(hidden[1]),
			"--batch", fmt.Sprint(batch), "--updates", "50",
		},
		beside: []beside{{
			fmt.Sprintf("%s, %v, %s: an update", strings.ToUpper(algorithm), hidden, plural(members, "member")),
			fmt.Sprintf("%s/%dx%d/p%d/k50", algorithm, hidden[0], hidden[1], members), []string{"milliseconds"}, "ms",
		}},
	}
}

// hybrids are iterations of a hybrid with candidates on Pendulum-v1.
func hybrids(algorithm string, population int) peer {
	return iterations("hybrid_jax.py", algorithm, algorithm, population, "candidates")
}

// pbt are iterations of PBT over PPO or SAC on Pendulum-v1.
func pbt(algorithm string, population int) peer {
	return iterations("pbt_jax.py", algorithm, "pbt-"+algorithm, population, "members")
}

func iterations(script, algorithm, short string, population int, of string) peer {
	return peer{
		name: fmt.Sprintf("jax %s p%d", short, population), script: script, limit: peerLimit,
		args: []string{"--algorithm", algorithm, "--population", fmt.Sprint(population)},
		beside: []beside{{
			fmt.Sprintf("%s on Pendulum-v1, [64, 64], %d %s: an iteration", strings.ToUpper(short), population, of),
			fmt.Sprintf("%s/pendulum/64x64/p%d", short, population), []string{"seconds"}, "s",
		}},
	}
}

// acting is a policy in CartPole. HalfCheetah has no such peer: MJX's rollouts have random actions (mjx), since its dynamics take nearly all of the time.
func acting(environments int) peer {
	p := peer{
		name: fmt.Sprintf("jax acting e%d", environments), script: "acting_jax.py", limit: peerLimit,
		args: []string{"--environments", fmt.Sprint(environments)},
	}
	for _, form := range []string{"fused", "stepped"} {
		p.beside = append(p.beside, beside{
			fmt.Sprintf("A [64, 64] policy in %d CartPoles, %s", environments, form), fmt.Sprintf("act/cartpole/e%d/%s", environments, form),
			[]string{"steps_per_second"}, "",
		})
	}
	return p
}

func mjx(name string, worlds, steps int) peer {
	p := physics("mjx", "mjx_rollout.py", name, worlds, "--steps", fmt.Sprint(steps))
	if worlds == 65536 {
		p.beside = append(p.beside, beside{
			name + ": start-up and compiling" + startNote, strings.ToLower(name) + "/compile", []string{"start_up_seconds", "compile_seconds"}, "s",
		})
	}
	return p
}

func mujoco(name string, worlds int) peer {
	p := physics("mujoco", "mujoco_rollout.py", name, worlds)
	p.limit = peerLimit
	return p
}

func physics(by, script, name string, worlds int, args ...string) peer {
	short := strings.ToLower(name)
	return peer{
		name: fmt.Sprintf("%s %s w%d", by, short, worlds), script: script, limit: slowLimit,
		args:   append([]string{name + "-v5", "--worlds", fmt.Sprint(worlds)}, args...),
		beside: []beside{{fmt.Sprintf("%s, %d worlds", name, worlds), fmt.Sprintf("%s/w%d", short, worlds), []string{"env_steps_per_second"}, ""}},
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
