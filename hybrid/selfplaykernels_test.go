package hybrid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/rl"
)

// recordedBy records and runs a part of an iteration.
func recordedBy(t testing.TB, p *SelfPlay, f func(*engine.Recorder)) {
	t.Helper()
	program, err := p.State().Engine().Record("test", f)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Free()
	if err := program.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func writeWords(t testing.TB, to *engine.Tensor, of func(i int) uint32) []uint32 {
	t.Helper()
	values := make([]uint32, to.Len())
	for i := range values {
		values[i] = of(i)
	}
	if err := to.WriteUint32(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	return values
}

func writeFloats(t testing.TB, to *engine.Tensor, of func(i int) float32) []float32 {
	t.Helper()
	values := make([]float32, to.Len())
	for i := range values {
		values[i] = of(i)
	}
	if err := to.WriteFloat32(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	return values
}

// TestSelfPlayTally compares an iteration's results with sums in integers and float64.
func TestSelfPlayTally(t *testing.T) {
	const members, capacity, environments = 11, 7, 3
	cfg := smallPool()
	cfg.Capacity, cfg.Keep = capacity, 0.9
	p := newSelfPlay(t, 1, signs(t), small(members), cfg)
	initialized(t, p)
	dice := rand.New(rand.NewPCG(5, 6))
	results := writeWords(t, p.opponents.Matches().Results(), func(int) uint32 { return dice.Uint32N(4) * dice.Uint32N(2) })
	payoff := writeWords(t, p.payoff, func(int) uint32 { return dice.Uint32N(1000) })
	recent := writeFloats(t, p.recent, func(int) float32 { return 20 * dice.Float32() })
	recordedBy(t, p, p.recordTally)
	got, gotRecent := words(t, p.payoff), numbers(t, p.recent)
	for m := range members {
		for c := range capacity {
			var n [3]uint32
			for e := range environments {
				for k := range n {
					n[k] += results[((m*environments+e)*capacity+c)*3+k]
				}
			}
			for k := range n {
				payoff[((m*(capacity+1)+capacity)*capacity+c)*3+k] += n[k]
			}
			games, at := float64(n[0]+n[1]+n[2]), 2*(m*capacity+c)
			faded := math.Pow(0.9, games)
			for k, add := range []float64{float64(n[0]) + float64(n[1])/2, games} {
				if want := float64(recent[at+k])*faded + add; math.Abs(float64(gotRecent[at+k])-want) > 1e-4 {
					t.Errorf("member %d, opponent %d: recent %g; want %g", m, c, gotRecent[at+k], want)
				}
			}
		}
	}
	if !slices.Equal(got, payoff) {
		t.Errorf("payoff %v; want %v", got, payoff)
	}
}

// TestSelfPlayEntries compares entries into pools, with all they change, with the rules in Go.
func TestSelfPlayEntries(t *testing.T) {
	const members, capacity = 11, 5
	cfg := smallPool()
	cfg.Capacity, cfg.AppendSamples, cfg.AppendWinRate, cfg.AppendGames, cfg.AppendDifference = capacity, 100, 0.5, 40, 0.1
	newest := map[int][3]uint32{0: {30, 5, 30}, 3: {60, 0, 10}, 5: {2, 1, 2}, 8: {10, 5, 60}, 9: {39, 5, 30}} // the learner's games against the newest opponent
	same := map[int]string{1: "row and moments", 2: "row", 6: "row and moments", 7: "all but a bit"}          // of the newest opponent
	p := newSelfPlay(t, 1, signs(t), small(members), cfg)
	initialized(t, p)
	dice := rand.New(rand.NewPCG(7, 8))
	payoff := writeWords(t, p.payoff, func(i int) uint32 {
		each := (capacity + 1) * capacity * 3
		if n, ok := newest[i/each]; ok && i%each >= capacity*capacity*3 && i%each < capacity*capacity*3+3 {
			return n[i%3]
		}
		return dice.Uint32N(6)
	})
	recent := writeFloats(t, p.recent, func(int) float32 { return 1 + dice.Float32() })
	since := writeWords(t, p.since, func(i int) uint32 {
		if _, ok := newest[i]; ok || same[i] != "" {
			return 99 // it is due
		}
		return dice.Uint32N(100)
	})
	serial := writeWords(t, p.serial, func(i int) uint32 {
		if i/capacity%2 == 0 && i%capacity > 2 {
			return 0 // empty
		}
		return uint32(7 - i%capacity) // the oldest is the last
	})
	entries := writeWords(t, p.entries, func(int) uint32 { return 7 })
	entered := writeWords(t, p.entered, func(i int) uint32 { return uint32(i) })
	writeWords(t, p.Clock().Tensor(), func(i int) uint32 { return 41 - 40*uint32(i) })
	facing := p.State().Lookup("opponents/match_facing")
	faced := writeWords(t, facing, func(int) uint32 { return dice.Uint32N(2*capacity + 1) })
	writeWords(t, p.newest, func(int) uint32 { return 0 })
	actors := writeFloats(t, p.learner.(*rl.PPO).Agent().Actor(), func(i int) float32 { return float32(i) })
	width := len(actors) / members
	// ofNewest returns whose newest opponent's element it is in a tensor of rows, and which; -1: none's.
	ofNewest := func(i, width int) (member, at int) {
		if row := i/width - members; row >= 0 && row%capacity == 0 {
			return row / capacity, i % width
		}
		return -1, 0
	}
	rows := writeFloats(t, p.opponents.Rows(), func(i int) float32 {
		m, at := ofNewest(i, width)
		if m < 0 || same[m] == "" || same[m] == "all but a bit" && at == width-1 {
			return -1
		}
		return actors[m*width+at]
	})
	moments := p.State().Lookup("opponents/normalizers")
	of := numbers(t, p.learner.(*rl.PPO).Agent().Policy().Normalizer)
	writeFloats(t, moments, func(i int) float32 {
		if m, at := ofNewest(i, len(of)/members); m >= 0 && same[m] != "row" {
			return of[m*len(of)/members+at]
		}
		return -1
	})
	for _, scratch := range []*engine.Tensor{p.places, p.differs} {
		writeWords(t, scratch, func(int) uint32 { return math.MaxUint32 })
	}
	recordedBy(t, p, func(r *engine.Recorder) { p.recordEntries(r, false) })
	places, entering, waiting := words(t, p.places), 0, map[string]int{}
	for m := range members {
		row := func(player int) []uint32 { return payoff[(m*(capacity+1)+player)*capacity*3:][:capacity*3] }
		var played, score float64
		for c := range capacity {
			n := row(capacity)[3*c:]
			played, score = played+float64(n[0]+n[1]+n[2]), score+float64(n[0])+float64(n[1])/2
		}
		since[m] += 24 // 8 steps of 3 environments
		place := capacity
		due := since[m] >= 100 || played >= 40 && score >= 0.5*played
		n := row(capacity)
		met := float64(n[0] + n[1] + n[2])
		alike := met >= 40 && math.Abs((float64(n[0])+float64(n[1])/2)/met-0.5) < 0.1
		switch {
		case due && same[m] == "row and moments":
			waiting["same"]++
		case due && alike:
			waiting["alike"]++
		case due:
			entering++
			since[m], entries[m] = 0, entries[m]+1
			if place = capacity - 1; m%2 == 0 {
				place = 3
			}
			serial[m*capacity+place], entered[m*capacity+place] = 8, 42
			recent[2*(m*capacity+place)], recent[2*(m*capacity+place)+1] = 0, 0
			copy(row(place), row(capacity))
			clear(row(capacity))
			for player := range capacity {
				clear(row(player)[3*place:][:3])
			}
			for e := range 3 {
				if f := faced[3*m+e]; f != 0 && int(f-1)/2 == place {
					faced[3*m+e] = 0
				}
			}
			copy(rows[(members+m*capacity+place)*width:][:width], actors[m*width:][:width])
		}
		if int(places[m]) != place {
			t.Errorf("member %d enters at %d; want %d", m, places[m], place)
		}
	}
	if entering < 3 || waiting["same"] != 2 || waiting["alike"] != 2 || entering+4 == members {
		t.Errorf("%d of %d enter, waiting are %v; want a test of all", entering, members, waiting)
	}
	for _, c := range []struct {
		of   *engine.Tensor
		want []uint32
	}{{p.payoff, payoff}, {p.since, since}, {p.serial, serial}, {p.entered, entered}, {p.entries, entries}, {facing, faced}} {
		if got := words(t, c.of); !slices.Equal(got, c.want) {
			t.Errorf("%v is %v; want %v", c.of, got, c.want)
		}
	}
	if !slices.Equal(numbers(t, p.recent), recent) || !slices.Equal(numbers(t, p.opponents.Rows()), rows) {
		t.Error("recent scores or rows differ from the rules'")
	}
}

// TestSelfPlayWeights compares the weights of draws, and the metrics, with float64.
func TestSelfPlayWeights(t *testing.T) {
	const members, capacity = 11, 7
	for draw := UniformDraw; draw <= PrioritisedEvenDraw; draw++ {
		t.Run(fmt.Sprint(draw), func(t *testing.T) {
			cfg := smallPool()
			cfg.Capacity, cfg.Opponents = capacity, draw
			p := newSelfPlay(t, 1, signs(t), small(members), cfg)
			initialized(t, p)
			dice := rand.New(rand.NewPCG(9, uint64(draw)))
			serial := writeWords(t, p.serial, func(i int) uint32 {
				if i/capacity < 5 && i%capacity > i/capacity+1 {
					return 0
				}
				return 1 + uint32(i*5%capacity)
			})
			recent := writeFloats(t, p.recent, func(i int) float32 {
				switch member := i / capacity / 2; {
				case i%2 == 0:
					return 4 * dice.Float32()
				case member == 8, dice.IntN(4) == 0:
					return 0 // no games
				}
				return 4 + 20*dice.Float32()
			})
			for i := range recent {
				if i%2 == 0 && recent[i+1] == 0 {
					recent[i] = 0
				}
			}
			if err := p.recent.WriteFloat32(t.Context(), recent); err != nil {
				t.Fatal(err)
			}
			outputs := []*engine.Tensor{p.opponents.Matches().Weights(), p.opponents.Filled(), p.winRate, p.worst, p.size}
			for _, of := range outputs {
				writeFloats(t, of, func(int) float32 { return float32(math.NaN()) })
			}
			recordedBy(t, p, p.recordWeights)
			for m := range members {
				want, filled, metrics := referenceWeights(draw, serial[m*capacity:][:capacity], recent[2*m*capacity:][:2*capacity])
				for c := range capacity {
					if got := float64(numbers(t, outputs[0])[m*capacity+c]); !(math.Abs(got-want[c]) < 1e-5) {
						t.Errorf("member %d, opponent %d: weight %g; want %g", m, c, got, want[c])
					}
					if got := float64(numbers(t, outputs[1])[m*capacity+c]); got != filled[c] {
						t.Errorf("member %d, opponent %d: filled %g; want %g", m, c, got, filled[c])
					}
				}
				for k, of := range outputs[2:] {
					got := float64(numbers(t, of)[m])
					if math.IsNaN(got) != math.IsNaN(metrics[k]) || math.Abs(got-metrics[k]) > 1e-5 {
						t.Errorf("member %d: metric %v is %g; want %g", m, of, got, metrics[k])
					}
				}
			}
		})
	}
}

// referenceWeights is a member's part of shaders/hybrid/self_play_weights.comp.
func referenceWeights(draw Draw, serial []uint32, recent []float32) (weights, filled, metrics []float64) {
	weights, filled = make([]float64, len(serial)), make([]float64, len(serial))
	var rates, distances []float64
	distance := make([]float64, len(serial))
	for c, n := range serial {
		score, games := float64(recent[2*c]), float64(recent[2*c+1])
		distance[c] = math.NaN()
		if n == 0 {
			continue
		}
		filled[c] = 1
		if games > 0 {
			rates = append(rates, score/games)
		}
		if games >= 9 {
			if distance[c] = score / games; draw == PrioritisedEvenDraw {
				distance[c] = math.Abs(distance[c] - 0.5)
			}
			distances = append(distances, distance[c])
		}
	}
	sum := 0.0
	for c, n := range serial {
		switch {
		case n == 0:
		case draw == NewestDraw && n != slices.Max(serial):
		case draw < PrioritisedDraw || len(distances) == 0:
			weights[c] = 1
		default:
			d := distance[c]
			if math.IsNaN(d) {
				d = slices.Min(distances)
			}
			weights[c] = math.Pow(slices.Max(distances)-d, 3)
		}
		sum += weights[c]
	}
	if sum == 0 {
		copy(weights, filled)
	}
	size := 0.0
	for _, x := range filled {
		size += x
	}
	metrics = []float64{math.NaN(), math.NaN(), size}
	if len(rates) > 0 {
		mean := 0.0
		for _, x := range rates {
			mean += x / float64(len(rates))
		}
		metrics[0], metrics[1] = mean, slices.Min(rates)
	}
	return weights, filled, metrics
}
