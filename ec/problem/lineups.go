package problem

import (
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/vk"
)

// LineupsConfig defines the game that Lineups tests for balance.
type LineupsConfig struct {
	Teams int `min:"2" max:"8" doc:"Teams of a lineup, of three units each."`
	Table int `min:"1" max:"1000000" doc:"Number of the drawn table of heroes and equipment; another number is another game."`
}

// DefaultLineups has three teams.
func DefaultLineups() LineupsConfig { return LineupsConfig{Teams: 3, Table: 1} }

// Numbers of shaders/ec/problem/lineups.comp.
const (
	lineupHeroes, lineupPieces    = 51, 79
	lineupKinds, lineupSkills     = 3, 4
	lineupUnits, lineupBaselines  = 3, 4
	lineupHeroNumbers             = 4 + lineupSkills // attack, defence, health, cost, aptitudes
	lineupPieceNumbers            = 4                // of attack, defence, health; cost
	lineupUnitNumbers             = 6                // attack, defence, health, cost, mending, kind
	lineupAptitude, lineupMending = 0.4, 0.1
)

// Lineups is game balancing, as H. Bai et al., "Lamarckian Platform: Pushing the Boundaries of Evolutionary Reinforcement Learning Towards Asynchronous
// Commercial Games", 2022, section V.B describe it, for a synthetic game: it finds lineups of several teams that show where the game is out of balance.
// Tables and rules of battles are evorl's own; the numbers of heroes, equipment and skills and the objectives are the paper's. It implements ec.Problem.
//
// A team has three units; each has one of 51 heroes, one of 79 pieces of equipment, one of 3 kinds of soldiers and one of 4 skills. No hero and no piece is
// twice in a lineup. A candidate is 51 keys of heroes, 79 keys of pieces, and for each unit a number for its soldiers and one for its skill, all from 0 to
// 1. The heroes with the greatest keys are the units, the greatest first, and so are the pieces (J. C. Bean, "Genetic Algorithms and Random Keys for
// Sequencing and Optimization", 1994). So every vector is a valid lineup, whatever operator has made it; equal keys are in the order of the table.
//
// In a battle of eight rounds, both teams strike at once. The damage of a unit is 0.15 · attack · advantage of its soldiers over the other's / (defence ·
// health of the other), as a share of the other's strength, times its own strength; it falls on the other team's units by their share of the strength that
// is left. Then a unit of strength s regains mending · s · (1 − s). Equipment adds shares to attack, defence and health; a skill multiplies one of them
// by 1 + 0.4 · aptitude, or mends 0.1 · aptitude.
//
// All teams of a lineup fight each other, and four baseline teams. A team's strength is the mean share of its health that battles with the others of its
// lineup leave. Three objectives are maximised:
//
//   - the strength of the strongest team less that of the weakest;
//   - what battles with the lineup leave of the strongest team's resources, by what they leave of the weakest's, but at least a twentieth of its
//     resources; more than 2 counts as imbalanced;
//   - the mean share of its health that the weakest team has left after battles with the baselines, less what the baseline has.
//
// The true front is not known. Solutions are evaluated by the hypervolume from 0, 0 and −1.
//
// Errors: settings out of range.
func Lineups(cfg LineupsConfig) (*Function, error) {
	if err := config.Check(cfg); err != nil {
		return nil, err
	}
	slots := lineupUnits * cfg.Teams
	f := &Function{
		name: "lineups", objectives: 3, space: box(lineupHeroes+lineupPieces+2*slots, 0, 1), reference: []float64{0, 0, -1},
	}
	table := lineupTable(uint32(cfg.Table))
	f.constants = func(int) []float32 { return table }
	f.call = func(r *engine.Recorder, of functionOf) vk.Call {
		const most, each = 32768, (lineupHeroes + lineupPieces) * (lineupPieces + 8) // iterations of a dispatch's invocation, and for a candidate
		size := max(r.Workgroup(), 32)
		n := uint32(of.count())
		groups := max(r.Share(1, int(n*size)), (n*(each/size+1024)+most-1)/most)
		return lineupsKernel{
			Candidates: of.candidates, Objectives: of.objectives, Constants: of.constants, Members: of.members, Window: of.window, Dim: of.dim,
			Row: of.row, Population: of.population, First: of.first, Objective: of.objective, Teams: uint32(cfg.Teams), Workgroup: size,
		}.call(min(groups, n), 1, 1)
	}
	return f, nil
}

// lineupTable draws a table, in the layout of the kernel, padded to a multiple of four.
func lineupTable(number uint32) []float32 {
	rng := engine.NewRng(number, engine.Stream("lineups"), 0, 0, 0)
	between := func(low, high float32) float32 { return rng.UniformIn(low, high) }
	var t []float32
	for range lineupHeroes {
		attack, defence, health := between(0.6, 1.4), between(0.7, 1.3), between(0.7, 1.3)
		t = append(t, attack, defence, health, (attack+defence+health)/3*between(0.7, 1.3))
		for range lineupSkills {
			t = append(t, between(0, 1))
		}
	}
	for range lineupPieces {
		attack, defence, health := between(0, 0.3), between(0, 0.3), between(0, 0.3)
		t = append(t, attack, defence, health, (attack+defence+health)*between(0.3, 1))
	}
	// The baselines are drawn without a search: heroes and pieces in the order of a shuffle, all else at random.
	heroes, pieces := shuffled(rng, lineupHeroes), shuffled(rng, lineupPieces)
	units := make([]float32, 0, lineupUnitNumbers*lineupBaselines*lineupUnits)
	for i := range lineupBaselines * lineupUnits {
		hero, piece := t[heroes[i]*lineupHeroNumbers:], t[lineupHeroes*lineupHeroNumbers+pieces[i]*lineupPieceNumbers:]
		kind, skill := int(rng.Uniform()*lineupKinds), int(rng.Uniform()*lineupSkills)
		unit := [lineupUnitNumbers]float32{3: hero[3] + piece[3], 5: float32(kind)}
		for k := range 3 {
			unit[k] = hero[k] * (1 + piece[k])
		}
		if aptitude := hero[4+skill]; skill < 3 {
			unit[skill] *= 1 + lineupAptitude*aptitude
		} else {
			unit[4] = lineupMending * aptitude
		}
		units = append(units, unit[:]...)
	}
	t = append(t, units...)
	for i := range lineupKinds {
		for j := range lineupKinds {
			t = append(t, []float32{1, 1.3, 0.77}[(j-i+lineupKinds)%lineupKinds]) // each kind is better than the next one
		}
	}
	return append(t, make([]float32, ec.Space{Dim: len(t)}.Row()-len(t))...)
}

// shuffled returns the numbers below n in a drawn order.
func shuffled(rng *engine.Rng, n int) []int {
	order := make([]int, n)
	for i := range order {
		j := min(int(rng.Uniform()*float32(i+1)), i)
		order[i] = order[j]
		order[j] = i
	}
	return order
}
