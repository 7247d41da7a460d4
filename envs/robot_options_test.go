package envs

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/vk"
)

// TestRobotOptions takes recorded steps of Gymnasium's environments with other constructor options, using the options
// of the same names.
func TestRobotOptions(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	paths, err := filepath.Glob("testdata/*_options?.npz")
	if err != nil || len(paths) < len(robots) {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		file := strings.TrimSuffix(filepath.Base(path), ".npz")
		name, _, _ := strings.Cut(file, "_options")
		t.Run(file, func(t *testing.T) {
			data := readTrajectory(t, file)
			env := withGymnasium(t, name, data.meta)
			n := len(data.action)
			var before [][]float64
			var after []int
			for i := range data.episodes() {
				first, _, steps := data.episode(i)
				for k := range steps {
					before, after = append(before, data.state[first+k]), append(after, first+k+1)
				}
			}
			b, err := NewBatch(t.Context(), dev, env, 1, n, Options{AutoReset: Disabled})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if err := b.SetState(t.Context(), State{toFloat32(name, before), make([]EpisodeWord, n), make([]float32, n)}); err != nil {
				t.Fatal(err)
			}
			got, err := act(t.Context(), b, data.action)
			if err != nil {
				t.Fatal(err)
			}
			size := len(data.obs[0])
			if env.ObsSize() != size {
				t.Fatalf("%d observations; want %d", env.ObsSize(), size)
			}
			var obs, reward deviation
			for i := range n {
				for f, v := range got.NextObs[i*size : (i+1)*size] {
					want := data.obs[after[i]][f]
					obs.note((float64(v)-want)/max(1, math.Abs(want)), i, f)
				}
				reward.note(float64(got.Reward[i])-data.reward[i], i, 0)
				if got.Done[i] != data.done[i] {
					t.Errorf("step %d: done %d; want %d", i, got.Done[i], data.done[i])
				}
			}
			t.Logf("%s: %d steps; largest deviation of observations %.1g, rewards %.1g", file, n, obs.worst, reward.worst)
			if !(obs.worst <= 1e-2) || !(reward.worst <= 1e-3) {
				t.Errorf("observations deviate by %g (step %d, element %d), rewards by %g (step %d); want at most 1e-2 and 1e-3",
					obs.worst, obs.step, obs.element, reward.worst, reward.step)
			}
		})
	}
}

// withGymnasium returns an environment with the options that the file's metadata name.
func withGymnasium(t *testing.T, name, meta string) *Environment {
	t.Helper()
	var file struct{ Options map[string]any }
	if err := json.Unmarshal([]byte(meta), &file); err != nil {
		t.Fatal(err)
	}
	var toml strings.Builder
	toml.WriteString("[task]\n")
	for key, value := range file.Options {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		toml.WriteString(key + " = " + string(text) + "\n")
	}
	env, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := config.Parse("options", []byte(toml.String()))
	if err != nil {
		t.Fatal(err)
	}
	options := reflect.New(reflect.TypeOf(env.Options))
	options.Elem().Set(reflect.ValueOf(env.Options))
	if err := d.Decode(config.Sections{{Name: "task", Value: options.Interface()}}); err != nil {
		t.Fatal(err)
	}
	if env, err = env.With(options.Elem().Interface()); err != nil {
		t.Fatal(err)
	}
	return env
}

// TestRobotResetNoise: without noise an episode begins where Gymnasium's does; noise stays within its bounds.
func TestRobotResetNoise(t *testing.T) {
	dev := vktest.Open(t, vk.Validate(false))
	for _, name := range []string{"Hopper-v5", "HalfCheetah-v5", "InvertedDoublePendulum-v5"} {
		still := readArrays(t, name+"_options0")["still.npy"][0]
		env := lookup(t, name)
		robot := robots[name]
		for _, noise := range []float64{0, 0.3} {
			options := reflect.New(reflect.TypeOf(env.Options)).Elem()
			options.Set(reflect.ValueOf(env.Options))
			options.FieldByName("ResetNoiseScale").SetFloat(noise)
			with, err := env.With(options.Interface())
			if err != nil {
				t.Fatal(err)
			}
			const n = 64
			b, err := NewBatch(t.Context(), dev, with, 1, n, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Reset(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			s, err := b.State(t.Context())
			b.Close()
			if err != nil {
				t.Fatal(err)
			}
			for f := range robot.positions {
				most := 0.0
				for e := range n {
					most = max(most, math.Abs(float64(s.Env[f*n+e])-still[f]))
				}
				if most > noise+1e-6 || most < 0.8*noise {
					t.Errorf("%s: noise of %g moves position %d by at most %g of %d resets", name, noise, f, most, n)
				}
			}
		}
	}
}

// TestOptionNames: names and order of the GLSL's constants agree with the options' fields.
func TestOptionNames(t *testing.T) {
	for _, b := range builtIn() {
		text, err := os.ReadFile("../shaders/envs/" + b.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^#include "(envs/\w+\.glsl)"`).FindAllStringSubmatch(string(text), -1) {
			included, err := os.ReadFile("../shaders/" + m[1])
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, included...)
		}
		var got, want []string
		for i, m := range regexp.MustCompile(`(?m)^#define \w+ \(?OPTION_(\d+)(?: != 0\.0\))? // (\w+)`).FindAllStringSubmatch(string(text), -1) {
			got = append(got, m[2])
			if m[1] != string(rune('0'+i%10)) && m[1] != "1"+string(rune('0'+i%10)) {
				t.Errorf("%s: OPTION_%s is number %d", b.file, m[1], i)
			}
		}
		if b.spec.Options != nil {
			of := reflect.TypeOf(b.spec.Options)
			for i := range of.NumField() {
				f := of.Field(i)
				name := regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(f.Name, "${1}_${2}")
				name = strings.ToLower(regexp.MustCompile(`([A-Z])([A-Z][a-z])`).ReplaceAllString(name, "${1}_${2}"))
				if f.Tag.Get("define") != "" {
					continue
				}
				want = append(want, name)
				if f.Type.Kind() == reflect.Array {
					want = append(want, name)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s names the options %q; the fields are %q", b.file, got, want)
		}
	}
}

// TestWrongOptions: options of another environment and values out of range are errors that say so, and With begins
// from the registered environment.
func TestWrongOptions(t *testing.T) {
	hopper := lookup(t, "Hopper-v5")
	options := DefaultHopperOptions()
	options.ResetNoiseScale = -1
	for want, wrong := range map[string]any{"want envs.HopperOptions": DefaultAntOptions(), "reset_noise_scale": options, "<nil>": nil} {
		if _, err := hopper.With(wrong); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("options %v: error %v; want one with %q", wrong, err, want)
		}
	}
	if _, err := lookup(t, "CartPole-v1").With(DefaultHopperOptions()); err == nil {
		t.Error("CartPole-v1 takes Hopper's options")
	}
	options = DefaultHopperOptions()
	options.ExcludeCurrentPositionsFromObservation = false
	more, err := hopper.With(options)
	if err != nil || more.ObsSize() != hopper.ObsSize()+1 || more.IsBuiltIn() {
		t.Fatalf("with positions: %v, %d observations", err, more.ObsSize())
	}
	again, err := more.With(DefaultHopperOptions())
	if err != nil || again.ObsSize() != hopper.ObsSize() || !again.IsBuiltIn() {
		t.Errorf("as by default again: %v, %d observations", err, again.ObsSize())
	}
}
