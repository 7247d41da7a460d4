package hybrid

import "math"

// Ratings fits the strengths of players to the results of their games by the model of R. A. Bradley and M. E. Terry, 1952: player i beats player j with
// probability s_i / (s_i + s_j). wins[i][j] are the games that i won of those against j, a draw being half of one for both. Every pair that played has one
// virtual draw more, which keeps the strength of a player that never lost finite. Ratings are in units of Elo, 400 log10 of the strength, with mean 0;
// players that played nobody have NaN.
//
// The strengths are found by a fixed number of sweeps of Hunter's MM algorithm (D. R. Hunter, 2004) in the players' order, so that the same results have
// the same ratings, whatever the order of the games.
func Ratings(wins [][]float64) []float64 {
	const sweeps = 1000
	strength, score := make([]float64, len(wins)), make([]float64, len(wins))
	games := make([][]float64, len(wins))
	for i := range wins {
		games[i] = make([]float64, len(wins))
		strength[i] = 1
		for j := range wins {
			if n := wins[i][j] + wins[j][i]; i != j && n > 0 {
				games[i][j] = n + 1
				score[i] += wins[i][j] + 0.5
			}
		}
	}
	for range sweeps {
		for i := range wins {
			sum := 0.0
			for j, n := range games[i] {
				sum += n / (strength[i] + strength[j])
			}
			if sum > 0 {
				strength[i] = score[i] / sum
			}
		}
	}
	ratings, mean, played := make([]float64, len(wins)), 0.0, 0.0
	for i, s := range strength {
		if ratings[i] = math.NaN(); score[i] > 0 {
			ratings[i] = 400 * math.Log10(s)
			mean, played = mean+ratings[i], played+1
		}
	}
	for i := range ratings {
		ratings[i] -= mean / played
	}
	return ratings
}
