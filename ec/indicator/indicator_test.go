package indicator

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

func negative(set [][]float64) [][]float64 {
	out := make([][]float64, len(set))
	for i, p := range set {
		for _, v := range p {
			out[i] = append(out[i], -v)
		}
	}
	return out
}

// TestLikePymoo compares indicators with pymoo's, which minimises (tools/reference/ec/several.py).
func TestLikePymoo(t *testing.T) {
	data, err := os.ReadFile("testdata/several.json")
	if err != nil {
		t.Fatal(err)
	}
	var reference struct {
		Indicators []struct {
			Set, Front           [][]float64
			Reference            []float64
			GD, IGD, Hypervolume float64
			IGDPlus              float64 `json:"igd_plus"`
		}
	}
	if err := json.Unmarshal(data, &reference); err != nil {
		t.Fatal(err)
	}
	if len(reference.Indicators) == 0 {
		t.Fatal("no reference values")
	}
	for i, c := range reference.Indicators {
		set, front := negative(c.Set), negative(c.Front)
		check := func(name string, want float64) func(got float64, err error) {
			return func(got float64, err error) {
				t.Helper()
				if err != nil || !(math.Abs(got-want) <= 2e-8*max(1, want)) {
					t.Errorf("case %d: %s is %.10g, %v; want %.10g", i, name, got, err, want)
				}
			}
		}
		check("GD", c.GD)(GD(set, front))
		check("IGD", c.IGD)(IGD(set, front))
		check("IGD+", c.IGDPlus)(IGDPlus(set, front))
		check("hypervolume", c.Hypervolume)(Hypervolume(set, negative([][]float64{c.Reference})[0]))
	}
}

// TestHypervolume compares with the number of dominated cells of a grid, for points on the grid, including ties and dominated
// points.
func TestHypervolume(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const side = 7
	for range 200 {
		k := 2 + rng.IntN(2)
		set := make([][]float64, rng.IntN(12))
		for i := range set {
			for range k {
				set[i] = append(set[i], float64(rng.IntN(side+2)-1)) // some are not better than the reference, 0
			}
		}
		want := 0
		for cell := range int(math.Pow(side+1, float64(k))) {
			for _, p := range set {
				inside, rest := true, cell
				for _, v := range p {
					inside = inside && float64(rest%(side+1)) < v
					rest /= side + 1
				}
				for _, v := range p {
					inside = inside && v > 0
				}
				if inside {
					want++
					break
				}
			}
		}
		if len(set) == 0 {
			if _, err := Hypervolume(set, make([]float64, k)); err == nil {
				t.Fatal("no error for an empty set")
			}
			continue
		}
		got, err := Hypervolume(set, make([]float64, k))
		if err != nil || got != float64(want) {
			t.Fatalf("hypervolume of %v is %g, %v; want %d", set, got, err, want)
		}
	}
}

// TestNonDominated: equal solutions do not dominate each other.
func TestNonDominated(t *testing.T) {
	got := NonDominated([][]float64{{1, 2}, {2, 1}, {1, 1}, {1, 2}, {0, 3}, {2, 0}})
	want := []int{0, 1, 3, 4}
	if len(got) != len(want) {
		t.Fatalf("%v; want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v; want %v", got, want)
		}
	}
}

// TestErrors: sets whose indicator is undefined are rejected.
func TestErrors(t *testing.T) {
	good := [][]float64{{1, 2}}
	for name, set := range map[string][][]float64{
		"empty": {}, "no objectives": {{}}, "other length": {{1, 2, 3}}, "NaN": {{1, math.NaN()}}, "infinite": {{math.Inf(1), 1}}, "ragged": {{1, 2}, {1}},
	} {
		if _, err := GD(set, good); err == nil {
			t.Errorf("%s: no error of GD", name)
		}
		if _, err := IGD(good, set); err == nil {
			t.Errorf("%s: no error of IGD", name)
		}
		if _, err := IGDPlus(set, good); err == nil {
			t.Errorf("%s: no error of IGD+", name)
		}
		if _, err := Hypervolume(set, []float64{0, 0}); err == nil {
			t.Errorf("%s: no error of the hypervolume", name)
		}
	}
	if _, err := Hypervolume([][]float64{{1, 1, 1, 1}}, make([]float64, 4)); err == nil {
		t.Error("no error for a hypervolume with four objectives")
	}
}
