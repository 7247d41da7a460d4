package hybrid

import "math"

// Ratings fits the strengths of players to the results of their games by the model of R. A. Bradley and M. E. Terry, 1952: player i beats player j with
// probability s_i / (s_i + s_j). wins[i][j] are the games that i won of those against j, a draw being half of one for both. Every pair that played has one
// virtual draw more, which keeps the strength of a player that never lost finite. Ratings are in units of Elo, 400 log10 of the strength, with mean 0.
//
// Only players whom a chain of games connects can be compared: the largest set of such players has ratings, of equally large ones the first.
// All others have NaN, as have players that played nobody.
//
// The same results have the same ratings, whatever the order of the games.
func Ratings(wins [][]float64) []float64 {
	rated := largestConnected(wins)
	at, n := make([]int, len(wins)), 0 // of those that are rated, among them
	for i, is := range rated {
		if at[i] = n; is {
			n++
		}
	}
	var all []played
	for i := range wins {
		for j := range i {
			if rated[i] && havePlayed(wins, i, j) {
				all = append(all, played{at[i], at[j], wins[i][j] + 0.5, wins[j][i] + 0.5})
			}
		}
	}
	strengths, mean := logStrengths(n, all), 0.0
	for _, x := range strengths {
		mean += x / float64(n)
	}
	ratings := make([]float64, len(wins))
	for i, is := range rated {
		if ratings[i] = math.NaN(); is {
			ratings[i] = 400 / math.Ln10 * (strengths[at[i]] - mean)
		}
	}
	return ratings
}

// havePlayed returns whether two players have played each other.
func havePlayed(wins [][]float64, i, j int) bool { return i != j && wins[i][j]+wins[j][i] > 0 }

// largestConnected returns which players are in the largest set that pairs that played connect; none if nobody has played.
func largestConnected(wins [][]float64) []bool {
	seen, largest := make([]bool, len(wins)), []int(nil)
	for first := range wins {
		if seen[first] {
			continue
		}
		seen[first] = true
		set := []int{first}
		for k := 0; k < len(set); k++ {
			for j := range wins {
				if !seen[j] && havePlayed(wins, set[k], j) {
					seen[j] = true
					set = append(set, j)
				}
			}
		}
		if len(set) > max(1, len(largest)) {
			largest = set
		}
	}
	in := make([]bool, len(wins))
	for _, i := range largest {
		in[i] = true
	}
	return in
}

// played is a pair of players that played, with the wins of each, and of the virtual draw.
type played struct {
	i, j        int
	won, wonByJ float64
}

// logStrengths returns the n players' natural logarithms of strengths at which the likelihood of the results is greatest, but for a constant.
//
// It goes by Newton's method. A step that changes the difference of no pair by more than b is shortened to log(1 + b) / b of its length: along it the second
// derivative of the logistic function changes at most by the factor e^b, so that every step makes the likelihood greater (F. Bach, "Self-concordant analysis
// for logistic regression", 2010), and the last ones are whole.
func logStrengths(n int, all []played) []float64 {
	const (
		steps = 1000  // about ten are taken, more where players never lost
		least = 1e-10 // change of a difference that ends it
	)
	x, slope, curvature := make([]float64, n), make([]float64, n), make([]float64, len(all))
	for range steps {
		clear(slope)
		for k, g := range all {
			p, q := 1/(1+math.Exp(x[g.j]-x[g.i])), 1/(1+math.Exp(x[g.i]-x[g.j])) // without a difference that cancels
			more := g.won*q - g.wonByJ*p
			slope[g.i] += more
			slope[g.j] -= more
			curvature[k] = (g.won + g.wonByJ) * p * q
		}
		step, longest := newtonStep(all, curvature, slope), 0.0
		for _, g := range all {
			longest = max(longest, math.Abs(step[g.i]-step[g.j]))
		}
		if !(longest > 0) {
			break
		}
		part := math.Log1p(longest) / longest
		for i := range x {
			x[i] += part * step[i]
		}
		if longest < least {
			break
		}
	}
	return x
}

// newtonStep returns x with sum over the pairs of i of curvature (x_i - x_j) = slope_i, by conjugate gradients. Solutions differ by a constant: that of the
// first player is kept 0, since a constant that grew by rounding would hide the others' differences. The equations of players who met their neighbours only
// take about an iteration for each player, others fewer.
func newtonStep(all []played, curvature, slope []float64) []float64 {
	const least = 1e-20 // share of the squared residual that is left
	n := len(slope)
	x, residual, scale := make([]float64, n), append([]float64(nil), slope...), make([]float64, n)
	for k, g := range all {
		scale[g.i] += curvature[k]
		scale[g.j] += curvature[k]
	}
	direction, product := make([]float64, n), make([]float64, n)
	first, before := 0.0, math.Inf(1)
	for iteration := range 4 * n {
		size := 0.0
		for i, r := range residual[1:] {
			size += r * r / scale[1+i]
		}
		if iteration == 0 {
			first = size
		}
		if !(size > least*first) {
			break
		}
		for i := 1; i < n; i++ {
			direction[i] = residual[i]/scale[i] + size/before*direction[i]
		}
		before = size
		clear(product)
		bend := 0.0
		for k, g := range all {
			d := direction[g.i] - direction[g.j]
			product[g.i] += curvature[k] * d
			product[g.j] -= curvature[k] * d
			bend += curvature[k] * d * d
		}
		if !(bend > 0) {
			break
		}
		for i := range x {
			x[i] += size / bend * direction[i]
			residual[i] -= size / bend * product[i]
		}
	}
	return x
}
