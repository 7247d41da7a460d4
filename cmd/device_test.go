package cmd

import (
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/vk"
)

// A GPU that two drivers list is one device.
func TestDistinctGPUs(t *testing.T) {
	const radv, amd, nvidia = "radv Mesa 24.1.0", "AMD proprietary driver 24.10", "NVIDIA 550.54"
	for _, c := range []struct {
		name string
		gpus []vk.Info
		want []int
	}{
		{"two drivers of a GPU", []vk.Info{{Index: 0, Driver: radv, PCI: "0000:03:00.0"}, {Index: 2, Driver: amd, PCI: "0000:03:00.0"}}, []int{0}},
		{"two drivers of two GPUs", []vk.Info{
			{Index: 0, Driver: radv, PCI: "0000:03:00.0"}, {Index: 1, Driver: radv, PCI: "0000:04:00.0"},
			{Index: 2, Driver: amd, PCI: "0000:03:00.0"}, {Index: 3, Driver: amd, PCI: "0000:04:00.0"},
		}, []int{0, 1}},
		{"parts of a GPU", []vk.Info{{Index: 1, Driver: nvidia, PCI: "0000:65:00.0"}, {Index: 2, Driver: nvidia, PCI: "0000:65:00.0"}}, []int{1, 2}},
		{"unknown places", []vk.Info{{Index: 0, Driver: radv}, {Index: 1, Driver: nvidia}}, []int{0, 1}},
		{"a translation beside the own driver", []vk.Info{{Index: 0, Driver: "Dozen", Translated: true}, {Index: 1, Driver: amd}}, []int{1}},
		{"a translation alone", []vk.Info{{Index: 0, Driver: "Dozen", Translated: true}}, []int{0}},
	} {
		if got := distinct(c.gpus); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v; want %v", c.name, got, c.want)
		}
	}
}

// Lists of numbers name several devices, and a name that has commas is one device's.
func TestNumbers(t *testing.T) {
	for device, want := range map[string][]int{
		"": nil, "0": nil, "0,0": {0, 0}, "0, 2,1": {0, 2, 1}, "llvmpipe (LLVM 15.0.6, 256 bits)": nil, "0,": nil, "0,a": nil, "all": nil,
	} {
		if got := numbers(device); !slices.Equal(got, want) {
			t.Errorf("%q: %v; want %v", device, got, want)
		}
		if got := several(device); got != (want != nil || device == "all") {
			t.Errorf("%q names several: %v", device, got)
		}
	}
}

// A search on several devices is in slices, and ends as on one; what cannot be shared is refused.
func TestRunOnSeveralDevices(t *testing.T) {
	b := newBox(t)
	small := func(device, out string, more ...string) []string {
		return append([]string{"run", "-q", "--json", "--device", device, "--out", out, "--set", "openes.population=192", "--set", "environment.time_limit=20",
			"--set", "network.hidden=[4]", "--iterations", "3"}, more...)
	}
	b.write("openes.toml", "workflow = \"openes\"\nenv = \"CartPole-v1\"\n[evaluation]\nepisodes = 2\n")
	digest := func(args []string) string {
		t.Helper()
		return b.object(b.must(append(args, "openes.toml")...))["digest"].(string)
	}
	want := digest(small("0", "one", "--set", "search.slice=64"))
	if got := digest(small("0,0,0", "three")); got != want {
		t.Errorf("three devices end with %s; want %s", got, want)
	}
	if got := digest(small("all", "all", "--loose")); got != want {
		t.Errorf("all devices end with %s; want %s, however many there are", got, want)
	}
	if text := string(b.read("three/config.toml")); !strings.Contains(text, "slice = 64") {
		t.Errorf("the configuration does not have the slice:\n%s", text)
	}
	if out, _, _ := b.run("inspect", "three"); strings.Count(out, "\n  worker ") != 3 {
		t.Errorf("inspect names not three devices:\n%s", out)
	}
	b.write("ppo.toml", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\n")
	b.write("erl.toml", "workflow = \"erl\"\nenv = \"Pendulum-v1\"\n")
	for _, of := range [][]string{
		{"run", "--device", "0,0", "ppo.toml"}, {"run", "--device", "0,0", "erl.toml"}, {"run", "--device", "0,0", "--seeds", "2", "erl.toml"},
		{"run", "--device", "0,9", "openes.toml"},
	} {
		if _, stderr, status := b.run(of...); status != statusUsage {
			t.Errorf("%v: status %d\n%s", of, status, stderr)
		}
	}
}

// Repetitions of an agent are members that several devices compute, one slice each, and resume on one.
func TestMembersOnSeveralDevices(t *testing.T) {
	b := newBox(t)
	b.write("ppo.toml", "workflow = \"ppo\"\nenv = \"CartPole-v1\"\niterations = 2\n[network]\nhidden = [4]\n[ppo]\nenvironments = 2\nrollout_length = 8\n"+
		"epochs = 1\nminibatches = 2\n[evaluation]\nepisodes = 2\nbest_episodes = 0\n")
	digest := func(args ...string) string {
		t.Helper()
		return b.object(b.must(append([]string{"run", "-q", "--json"}, args...)...))["digest"].(string)
	}
	want := digest("--device", "0,0", "--seeds", "4", "--iterations", "4", "--out", "two", "ppo.toml")
	if text := string(b.read("two/config.toml")); !strings.Contains(text, "members = 4") || !strings.Contains(text, "slice = 2") {
		t.Errorf("the configuration does not have the members and the slice:\n%s", text)
	}
	digest("--device", "0,0", "--seeds", "4", "--out", "one", "ppo.toml")
	if got := digest("--device", "0", "--resume", "--out", "one", "--iterations", "4"); got != want {
		t.Errorf("resumed on one device, the run ends with %s; want %s", got, want)
	}
	if out, _, _ := b.run("inspect", "two"); strings.Count(out, "\n  worker ") != 2 {
		t.Errorf("inspect names not two devices:\n%s", out)
	}
}
