package hybrid

import "github.com/evorl/evorl/engine/config"

// LeagueConfig are the settings of a league: main agents, which learn to beat everybody; main exploiters, which learn to beat the main agents; and league
// exploiters, which learn to beat all past players (O. Vinyals et al., "Grandmaster level in StarCraft II using multi-agent reinforcement learning", 2019,
// supplementary pseudocode).
type LeagueConfig struct {
	League bool `doc:"Members are a league, in which all meet all past players: main agents first, then main exploiters, then league exploiters."`

	MainExploiters   int `min:"0" max:"1024" doc:"In a league: members that play the main agents, and begin anew whenever they enter."`
	LeagueExploiters int `min:"0" max:"1024" doc:"In a league: members that play all past players, and begin anew in reset_share of their entries."`

	Checked     float64 `min:"0" max:"1" doc:"In a league: share of a main agent's episodes against past players that beat it; if none does, as in latest."`
	AppendAfter int     `min:"0" max:"2147483647" doc:"In a league: steps of a member since its last entry before which append_win_rate does not count."`
	ResetShare  float64 `min:"0" max:"1" doc:"In a league: probability that a league exploiter begins anew when it enters."`
}

// defaultLeague has the shares of AlphaStar's pseudocode, with one of its three sets of players.
func defaultLeague() LeagueConfig {
	return LeagueConfig{MainExploiters: 1, LeagueExploiters: 2, Checked: 0.15, AppendAfter: 500_000, ResetShare: 0.25}
}

// maxPlayers bounds a league's players: there is an element of its payoff matrix for every pair.
const maxPlayers = 2048

// validateLeague checks constraints across fields that a league has.
func (c SelfPlayConfig) validateLeague() error {
	switch {
	case !c.League:
	case c.Opponents != UniformDraw:
		return config.Invalid("opponents", "%v opponents in a league, whose members have their own by their roles; want uniform, the default", c.Opponents)
	case c.Population > 0:
		return config.Invalid("population", "a league's members meet each other by their roles; want 0, and latest for main agents against main agents")
	case c.Scripted > 0 || c.Random > 0:
		return config.Invalid("scripted", "scripted and random are %g and %g in a league, which plays among itself; want 0", c.Scripted, c.Random)
	case c.AppendDifference > 0:
		return config.Invalid("append_difference", "%g in a league, whose members enter by append_win_rate and append_samples; want 0", c.AppendDifference)
	case c.Latest+c.Checked > 1:
		return config.Invalid("checked", "latest and checked are %g and %g; want at most 1 together", c.Latest, c.Checked)
	case c.AppendSamples > 0 && c.AppendAfter > c.AppendSamples:
		return config.Invalid("append_after", "%d steps before a win rate counts, and entries after %d; want at most as many", c.AppendAfter, c.AppendSamples)
	}
	return nil
}

// checkLeague checks the roles of a number of members.
func (c SelfPlayConfig) checkLeague(members int) error {
	switch exploiters, players := c.MainExploiters+c.LeagueExploiters, members*(1+c.Capacity); {
	case !c.League:
	case exploiters >= members:
		return config.Invalid("self-play.main_exploiters",
			"%d main exploiters and %d league exploiters are a league of %d members without a main agent; want %s.members of at least %d",
			c.MainExploiters, c.LeagueExploiters, members, c.Over, exploiters+1)
	case players > maxPlayers:
		return config.Invalid("self-play.capacity", "%d members and their %d past players each are %d players of a league; want at most %d",
			members, c.Capacity, players, maxPlayers)
	}
	return nil
}
