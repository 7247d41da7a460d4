package plot

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// axisScale is the unit and label of the axis along the bottom.
type axisScale struct {
	label string
	unit  float64 // in the records' units
}

func scaleFor(a Axis, largest float64) axisScale {
	switch {
	case a == EnvSteps:
		return axisScale{"Environment steps", 1}
	case a == Evaluations:
		return axisScale{"Evaluations", 1}
	case a == Iterations:
		return axisScale{"Iterations", 1}
	case largest > 3*3600:
		return axisScale{"Wall time (h)", 3600}
	case largest > 3*60:
		return axisScale{"Wall time (min)", 60}
	}
	return axisScale{"Wall time (s)", 1}
}

// niceTicks sets ticks at round numbers.
type niceTicks struct{}

// Ticks implements [plot.Ticker].
func (niceTicks) Ticks(low, high float64) []plot.Tick { return ticksBy(niceStep(high-low), low, high) }

// ticksBy are the multiples of a step from low to high.
func ticksBy(step, low, high float64) []plot.Tick {
	first, last := math.Ceil(low/step-1e-9), math.Floor(high/step+1e-9)
	if math.IsInf(step, 0) || !(last-first < 100) { // a range beyond what numbers can count
		return nil
	}
	var ticks []plot.Tick
	for i := range int(last-first) + 1 {
		x := (first + float64(i)) * step
		ticks = append(ticks, plot.Tick{Value: x, Label: shortNumber(x, step)})
	}
	return ticks
}

// logTicks sets ticks at 1, 2 and 5 times powers of ten, or at the powers alone where those are many.
type logTicks struct{}

// Ticks implements [plot.Ticker].
func (logTicks) Ticks(low, high float64) []plot.Tick {
	if !(low > 0 && high > low) || math.IsInf(high, 0) {
		return nil
	}
	decades := math.Log10(high / low)
	factors := []float64{1}
	if decades < 2 {
		factors = []float64{1, 2, 5}
	}
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range factors {
			x := m * math.Pow(10, e)
			if x < low*(1-1e-9) || x > high*(1+1e-9) {
				continue
			}
			label := strconv.FormatFloat(x, 'g', -1, 32)
			if x >= 1e-3 {
				label = shortNumber(x, x)
			}
			ticks = append(ticks, plot.Tick{Value: x, Label: label})
		}
	}
	return ticks
}

// niceStep is 1, 2 or 5 times a power of ten, such that a span has about six steps: the candidate that is nearest on a
// logarithmic scale.
func niceStep(span float64) float64 {
	if !(span > 0) {
		return 1
	}
	rough := span / 6
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	switch m := rough / power; {
	case m < math.Sqrt(1*2):
		return power
	case m < math.Sqrt(2*5):
		return 2 * power
	case m < math.Sqrt(5*10):
		return 5 * power
	}
	return 10 * power
}

// shortNumber writes a multiple of step with no more digits than it needs: 1500000 as 1.5M.
func shortNumber(x, step float64) string {
	if math.Abs(x) < step/2 {
		return "0"
	}
	unit, suffix := 1.0, ""
	for _, s := range []struct {
		unit   float64
		suffix string
	}{{1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}} {
		if math.Abs(x) >= s.unit*(1-1e-9) && (step >= s.unit/1000 && math.Abs(x) >= 10_000 || s.suffix != "k") {
			unit, suffix = s.unit, s.suffix
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(step/unit)+1e-9)))
	text := strconv.FormatFloat(x/unit, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return strings.Replace(text, "-", "−", 1) + suffix
}

// widen makes an axis begin at 0 where the data nearly does, and leaves some room above and below the curves.
func widen(a *plot.Axis, alongBottom bool) {
	if largest := max(math.Abs(a.Min), math.Abs(a.Max)); a.Max-a.Min <= 1e-9*largest {
		room := max(1, largest/10)
		a.Min, a.Max = a.Min-room, a.Max+room
	}
	if a.Min > 0 && a.Min < 0.15*a.Max {
		a.Min = 0
	}
	if alongBottom {
		return
	}
	const share = 0.03
	room := share * (a.Max - a.Min)
	if a.Min != 0 {
		a.Min -= room
	}
	a.Max += room
}
