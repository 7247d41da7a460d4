//go:build linux && (amd64 || arm64)

package cmd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Results of Vulkan by which calls fail in these tests.
const (
	noHostMemory   = -1
	noMemory       = -2
	notInitialised = -3
	lost           = -4
	notMapped      = -5
	noExtension    = -7
	noFeature      = -8
	noDriver       = -9
	tooManyObjects = -10
	fragmentedPool = -12
	noPoolMemory   = -1000069000
	fragmentation  = -1000161000
	incomplete     = 5
)

// faultResults lists the results by which a function can fail, as the specification has them. The program must not call another function that
// returns a result.
var faultResults = func() map[string][]int {
	memory := []int{noMemory, noHostMemory}
	all := map[string][]int{
		"vkEnumerateInstanceVersion":             {noHostMemory},
		"vkEnumerateInstanceExtensionProperties": {noMemory, noHostMemory, incomplete},
		"vkCreateInstance":                       {notInitialised, noMemory, noHostMemory, noExtension, noDriver},
		"vkEnumeratePhysicalDevices":             {notInitialised, noMemory, noHostMemory, incomplete},
		"vkEnumerateDeviceExtensionProperties":   {noMemory, noHostMemory, incomplete},
		"vkCreateDevice":                         {lost, notInitialised, noMemory, noHostMemory, noExtension, noFeature, tooManyObjects},
		"vkMapMemory":                            {notMapped, noMemory, noHostMemory},
		"vkCreateDescriptorPool":                 {fragmentation, noMemory, noHostMemory},
		"vkAllocateDescriptorSets":               {noPoolMemory, fragmentedPool, noMemory, noHostMemory},
		"vkCreatePipelineCache":                  {noHostMemory, noMemory},
	}
	for _, name := range []string{"vkQueueSubmit", "vkWaitSemaphores", "vkGetSemaphoreCounterValue", "vkWaitForFences", "vkGetQueryPoolResults"} {
		all[name] = []int{lost, noMemory, noHostMemory}
	}
	for _, name := range []string{
		"vkAllocateMemory", "vkFlushMappedMemoryRanges", "vkInvalidateMappedMemoryRanges", "vkCreateFence", "vkResetFences",
		"vkBindBufferMemory", "vkCreateSemaphore", "vkCreateQueryPool", "vkCreateBuffer", "vkCreateBufferView", "vkCreateShaderModule",
		"vkGetPipelineCacheData", "vkCreateComputePipelines", "vkCreatePipelineLayout", "vkCreateDescriptorSetLayout", "vkCreateCommandPool",
		"vkAllocateCommandBuffers", "vkBeginCommandBuffer", "vkEndCommandBuffer",
	} {
		all[name] = memory
	}
	return all
}()

// cannotFail reports whether a function returns no result.
func cannotFail(name string) bool {
	for _, prefix := range []string{"vkDestroy", "vkFree", "vkGetPhysicalDevice", "vkGetDeviceQueue", "vkGetBufferMemoryRequirements", "vkUpdateDescriptorSets"} {
		if strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, "vkGetPhysicalDeviceCooperativeMatrix") {
			return true
		}
	}
	return false
}

// harmless reports whether the program can do without a call: lists that have grown are asked for again, caches and measurements of time are
// left out, less memory is allocated at a time, a fence is not used again, a look at what has finished is taken later, and without memory the best is
// not evaluated again.
func harmless(name string, result int) bool {
	switch name {
	case "vkGetPipelineCacheData", "vkCreatePipelineCache", "vkCreateQueryPool", "vkResetFences":
		return true
	case "vkAllocateMemory", "vkMapMemory", "vkCreateBuffer", "vkGetSemaphoreCounterValue", "vkWaitForFences":
		return result == noMemory || result == noHostMemory
	}
	return result == incomplete
}

// faultRun is a configuration on a kind of device.
type faultRun struct {
	name, config string
	plain        bool // on a device without timeline semaphores and coherent memory
}

const faultCommon = `
iterations = 6
seed = 3
[network]
hidden = [8]
[evaluation]
every = 2
episodes = 2
[checkpoint]
every = 2
`

var faultRuns = []faultRun{
	{"openes", "workflow = \"openes\"\nenv = \"CartPole-v1\"" + faultCommon + "[openes]\npopulation = 16\n", false},
	{"ppo", "workflow = \"ppo\"\nenv = \"CartPole-v1\"" + faultCommon + "[ppo]\nmembers = 2\nenvironments = 2\nrollout_length = 16\nepochs = 2\n", true},
	{"pbt", "workflow = \"pbt\"\nenv = \"CartPole-v1\"" + faultCommon + "[ppo]\nmembers = 4\nenvironments = 2\nrollout_length = 16\nepochs = 2\n" +
		"[pbt]\nwarmup = 2\ninterval = 2\nepisodes = 2\n", false},
}

// faulty is a box whose evorl runs on a loader that counts calls and lets them fail.
type faulty struct {
	*box
	loader string
	run    faultRun
	digest string // of the undisturbed run
}

// ending is how a run ended, with the calls of each function.
type ending struct {
	digest, stderr string
	status         int
	calls          map[string]calls
}

type calls struct{ made, failed int }

// train runs the configuration, or resumes it, with a fault ("" for none).
func (f *faulty) train(t *testing.T, fault, out string, args ...string) ending {
	t.Helper()
	file := f.path(out + ".counts")
	b := box{t: t, dir: f.dir, env: append(slices.Clone(f.env), "EVORL_VULKAN_LOADER="+f.loader, "EVORL_TEST_COUNTS="+file, "EVORL_TRANSLATE_AHEAD=0")}
	if fault != "" {
		b.env = append(b.env, "EVORL_TEST_FAULT="+fault)
	}
	if f.run.plain {
		b.env = append(b.env, "EVORL_TEST_PLAIN=1")
	}
	stdout, stderr, status := b.run(append([]string{"run", "-q", "--json", "--out", out, f.run.name + ".toml"}, args...)...)
	end := ending{stderr: stderr, status: status, calls: map[string]calls{}}
	if status == 0 {
		end.digest, _ = b.object(stdout)["digest"].(string)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	const record, name = 64, 56
	for at := 0; at+record <= len(raw) && raw[at] != 0; at += record {
		c := calls{int(binary.NativeEndian.Uint32(raw[at+name:])), int(binary.NativeEndian.Uint32(raw[at+name+4:]))}
		if c.made > 0 {
			end.calls[string(bytes.TrimRight(raw[at:at+name], "\x00"))] = c
		}
	}
	return end
}

// A call of Vulkan that fails, whichever it is, ends a run with an error that names it, or changes nothing; what the run has saved can be
// resumed to the same end. Every function fails at its first, its middle and its last call in one of the runs, and by turns in the others;
// with EVORL_TEST_FAULTS=all in all of them, and by every result that it may have.
func TestFaults(t *testing.T) {
	b := newBox(t)
	loader := faultLoader(b)
	all, turn := os.Getenv("EVORL_TEST_FAULTS") == "all", 0
	seen := map[string]bool{}
	for _, run := range faultRuns {
		f := &faulty{box: b, loader: loader, run: run}
		b.write(run.name+".toml", run.config)
		t.Run(run.name, func(t *testing.T) {
			end := f.train(t, "", run.name)
			if end.status != 0 {
				t.Fatalf("status %d\n%s", end.status, end.stderr)
			}
			f.digest = end.digest
			for _, name := range slices.Sorted(maps.Keys(end.calls)) {
				results := faultResults[name]
				if results == nil && !cannotFail(name) {
					t.Errorf("%s is called; want faultResults to list the results by which it can fail", name)
				}
				made := end.calls[name].made
				for _, call := range slices.Compact([]int{1, (made + 1) / 2, made}) {
					turn++
					for i, result := range results {
						if all || i == turn%len(results) && (!seen[name] || turn%6 == 0) {
							t.Run(fmt.Sprintf("%s %d %d", name, call, result), func(t *testing.T) {
								t.Parallel()
								f.fail(t, name, call, result)
							})
						}
					}
				}
			}
			for name := range end.calls {
				seen[name] = true
			}
		})
	}
}

// faultLoader compiles the loader.
func faultLoader(b *box) string {
	b.t.Helper()
	loader := b.path("faults.so")
	if out, err := exec.Command("gcc", "-O1", "-shared", "-fPIC", "-o", loader, "testdata/faults.c", "-ldl").CombinedOutput(); err != nil {
		b.t.Fatalf("%v\n%s", err, out)
	}
	return loader
}

// The error of a lost device is printed before anything of the device is destroyed, since a driver can crash then.
func TestLostThenCrash(t *testing.T) {
	b := newBox(t)
	f := &faulty{box: b, loader: faultLoader(b), run: faultRuns[0]}
	b.write(f.run.name+".toml", f.run.config)
	for _, function := range []string{"vkDestroyBuffer", "vkDestroyCommandPool", "vkDestroyDevice"} {
		b.env = []string{"EVORL_TEST_CRASH=" + function}
		end := f.train(t, fmt.Sprintf("vkWaitSemaphores %d %d", 5, lost), function)
		if !strings.HasPrefix(end.stderr, "evorl: ") || end.status != 134 {
			t.Errorf("%s crashes: status %d; want 134, and the error before:\n%.1000s", function, end.status, end.stderr)
		}
	}
}

// fail lets a call fail and checks how the run ends, and goes on. If the run has fewer calls this time, since some of them depend on the time that
// others take, it is the last one, and an eighth of them earlier in each further try.
func (f *faulty) fail(t *testing.T, name string, call, result int) {
	out := strings.NewReplacer("/", "-", " ", "_").Replace(t.Name())
	var end ending
	for try := 0; ; try++ {
		end = f.train(t, fmt.Sprintf("%s %d %d", name, call, result), out)
		if end.calls[name].failed > 0 {
			break
		}
		made := end.calls[name].made
		if call = made - made*try/8; try == 3 || call == 0 || end.status != 0 {
			t.Fatalf("no call has failed; status %d\n%s", end.status, end.stderr)
		}
		if err := os.RemoveAll(f.path(out)); err != nil {
			t.Fatal(err)
		}
	}
	first, _, _ := strings.Cut(end.stderr, "\n")
	t.Logf("call %d of %d: status %d, %v: %s", call, end.calls[name].made, end.status, checkpoints(t, f.path(out)), first)
	switch {
	case end.status == 0 && (!harmless(name, result) || end.digest != f.digest):
		t.Errorf("it ended with digest %s; want an error, or if that changes nothing %s", end.digest, f.digest)
	case end.status == 0:
	case end.status != statusFailed, !strings.HasPrefix(end.stderr, "evorl: "), strings.Contains(end.stderr, "goroutine "):
		t.Errorf("status %d\n%s", end.status, end.stderr)
	case !strings.Contains(end.stderr, name), result == lost && !strings.Contains(end.stderr, "--resume"):
		t.Errorf("no word of %s or of how to go on in\n%s", name, end.stderr)
	}
	if _, err := os.Stat(f.path(out)); end.status == 0 || err != nil {
		return
	}
	end = f.train(t, "", out, "--resume")
	if end.status != 0 || end.digest != f.digest {
		t.Errorf("resumed: status %d, digest %s; want %s\n%s", end.status, end.digest, f.digest, end.stderr)
	}
}
