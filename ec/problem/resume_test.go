package problem

import (
	"math/rand/v2"
	"testing"

	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/envs"
)

// TestPopulationsResume: a search resumed from a checkpoint is bit-identical, with poisoned unsaved tensors.
func TestPopulationsResume(t *testing.T) {
	dev := open(t)
	ga, coded, de, shade, pso, cso := ec.DefaultGA(), ec.RealCodedGA(), ec.DefaultDE(), ec.DefaultSHADE(), ec.DefaultPSO(), ec.DefaultCSO()
	ga.Population, coded.Population, de.Population, shade.Population, shade.Memory, pso.Population, cso.Population = 9, 10, 11, 12, 3, 7, 5
	grid, tessellation := ec.DefaultMAPElites(), ec.DefaultCVTMAPElites()
	grid.Cells, grid.Population, tessellation.Centroids, tessellation.Samples, tessellation.Population = []int{5, 6}, 15, 20, 100, 8
	batches, painting, policies := ec.DefaultPGPE(), ec.DefaultOpenES(), ec.DefaultOpenES()
	batches.Population, painting.Population, policies.Population = 6, 8, 6
	nsga2, nsga3, moead := ec.DefaultNSGA2(), ec.DefaultNSGA3(), ec.DefaultMOEAD()
	nsga2.Population, nsga3.Population, moead.Population = 9, 7, 12
	for i, algo := range []ec.Algorithm{
		ga, coded, de, shade, pso, cso, grid, tessellation, nsga2, nsga3, moead, ec.DefaultCMAES(), batches, batches, painting, policies,
	} {
		t.Run(algo.Name(), func(t *testing.T) {
			const members = 2
			var problem ec.Problem = Arm(6)
			switch {
			case i > 14: // with a reference batch
				network := DefaultNetwork()
				network.RandomSteps, network.VirtualBatchNorm = 40, 11
				problem = Policy(lookup(t, "CartPole-v1"), envs.Options{TimeLimit: 20}, network, DefaultPolicy())
			case i > 13:
				var err error
				cfg := DefaultPainting()
				cfg.Triangles = 4
				if problem, err = Paint("painting", madePicture(rand.New(rand.NewPCG(1, 2)), 19, 21), cfg); err != nil {
					t.Fatal(err)
				}
			case i > 12: // of questions
				problem = adder(t, 3, 11, 1, 2)
			case i > 11: // of images
				var err error
				cfg := DefaultClassification()
				cfg.Batch = 11
				if problem, err = Classify("digits", madeImages(rand.New(rand.NewPCG(1, 2)), 29, 3), linear(), cfg); err != nil {
					t.Fatal(err)
				}
			case i > 10: // noise, instances, and double-float candidates
				var err error
				if problem, err = BBOB(BBOBConfig{Function: 122, Dimension: 6, Instance: 3}); err != nil {
					t.Fatal(err)
				}
			case i > 7:
				problem = named(t, "dtlz2", 3, 6)
			}
			begin := func(seed uint32) *ec.Search {
				s, err := ec.NewSearch(t.Context(), engine.New(dev, engine.Seed(seed)), algo, problem, members)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				if err := s.Init(t.Context()); err != nil {
					t.Fatal(err)
				}
				return s
			}
			steps := func(s *ec.Search, n int) {
				done, _, err := s.Clock().Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for i := range n {
					ticket, err := s.Step(t.Context(), done+i)
					if err == nil {
						err = ticket.Wait(t.Context())
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			digest := func(s *ec.Search) string {
				d, err := s.State().Digest(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			whole := begin(uint32(i))
			steps(whole, 3)
			dir := t.TempDir()
			manifest, err := whole.State().Save(t.Context(), dir, 3)
			if err != nil {
				t.Fatal(err)
			}
			half := digest(whole)
			steps(whole, 4)
			if digest(whole) == half {
				t.Fatal("four generations changed nothing")
			}
			part, err := ec.NewSearch(t.Context(), engine.New(dev, engine.Seed(uint32(i))), algo, problem, members)
			if err != nil {
				t.Fatal(err)
			}
			defer part.Close()
			saved, _, err := checkpoint.Latest(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := part.State().Load(t.Context(), saved); err != nil {
				t.Fatal(err)
			}
			if err := part.State().Poison(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := digest(part); got != half {
				t.Fatalf("loaded %s; want %s of %v", got, half, manifest)
			}
			steps(part, 4)
			if a, b := digest(whole), digest(part); a != b {
				t.Errorf("digest %s after a resume; want %s", b, a)
			}
			if other := begin(uint32(i) + 100); digest(other) == digest(begin(uint32(i))) {
				steps(other, 1)
				again := begin(uint32(i))
				steps(again, 1)
				if digest(other) == digest(again) {
					t.Error("the seed changes nothing")
				}
			}
		})
	}
}
