package envs

import (
	"slices"

	"github.com/evorl/evorl/engine/nn"
)

// MinAtarOptions are the options of MinAtar's games.
type MinAtarOptions struct {
	// StickyActions is the probability with which a step repeats the action that was executed before, also that of the last
	// episode's end.
	StickyActions float32 `min:"0" max:"1" doc:"Probability that a step repeats the action executed before instead."`
	// FullActions makes the actions of all games available, six, instead of those that the game uses.
	FullActions bool `doc:"All six actions (none, left, up, right, down, fire) instead of those that the game uses."`
	// Ramping makes a game harder as it goes on, if it has that.
	Ramping bool `doc:"Games become harder as they go on, except Breakout and Freeway."`
}

// DefaultMinAtarOptions returns the package's defaults, with the minimal sets of actions of its environments v1.
func DefaultMinAtarOptions() MinAtarOptions {
	return MinAtarOptions{StickyActions: 0.1, Ramping: true}
}

// spec implements actions.
func (o MinAtarOptions) spec(s Spec) Spec {
	if o.FullActions {
		g := *s.Geometry
		g.Actions = minAtarActions
		s.Action, s.Geometry = Discrete(len(minAtarActions)), &g
	}
	return s
}

var minAtarActions = []string{"none", "left", "up", "right", "down", "fire"}

// minAtarChannel is a channel of a game's board as a viewer shows it: boxes at the cells that are set, at most `most` of them.
type minAtarChannel struct {
	name  string
	most  int
	color [4]float64
}

// minAtar returns the Spec of a game. cells appends the cells of a channel that are set in a state, as 10 y + x.
func minAtar(name, summary string, state, actions []string, channels []minAtarChannel, cells func(state []float32, channel int, to []int) []int) Spec {
	observation := Image(10, 10, len(channels))
	observation.Element = nn.Bits
	var names []string
	for _, c := range channels {
		names = append(names, c.name)
	}
	return Spec{
		Name: "MinAtar-" + name + "-v1", Summary: summary,
		Source:      "MinAtar 1.0.15; Young, Tian 2019",
		Observation: observation, Action: Discrete(len(actions)),
		channels: names, State: state, MaxSteps: minAtarMaxSteps, Options: DefaultMinAtarOptions(), Geometry: minAtarGeometry(actions, channels, cells),
	}
}

// minAtarMaxSteps is evorl's: MinAtar has no limit, and evaluations need one. Freeway ends by itself in this step.
const minAtarMaxSteps = 2501

// minAtarGeometry shows the board upright, a unit a cell, with a body for each cell that may be set. Those that are not are behind the board.
func minAtarGeometry(actions []string, channels []minAtarChannel, cells func([]float32, int, []int) []int) *Geometry {
	g := &Geometry{
		Bodies: []string{"world"},
		Shapes: []Shape{floor(-0.2), box("board", 0, [3]float64{5, 0.6, 5}, [3]float64{10.2, 0.2, 10.2}, dark)},
		Camera: Camera{LookAt: [3]float64{5, 0, 5}, Distance: 15, Azimuth: 90, Elevation: -4},
		Time:   1. / 30, Actions: actions,
	}
	for i, c := range channels {
		for range c.most {
			size := 0.9 - 0.08*float64(i) // where a cell is in several channels, all are seen
			g.Shapes = append(g.Shapes, box(c.name, len(g.Bodies), [3]float64{0, -0.1 * float64(i), 0}, [3]float64{size, 0.5, size}, c.color))
			g.Bodies = append(g.Bodies, c.name)
		}
	}
	g.Poses = func(state []float32) []Pose {
		poses := make([]Pose, 1, len(g.Bodies))
		var set []int
		for i, c := range channels {
			set = cells(state, i, set[:0])
			for k := range c.most {
				at := Pose{Pos: [3]float64{5, 1.2, 5}}
				if k < len(set) {
					at.Pos = [3]float64{float64(set[k]%10) + 0.5, 0.3, 9.5 - float64(set[k]/10)}
				}
				poses = append(poses, at)
			}
		}
		return poses
	}
	return g
}

func minAtarBreakout() Spec {
	channels := []minAtarChannel{{"paddle", 1, blue}, {"ball", 1, red}, {"trail", 1, grey}, {"brick", 30, wood}}
	state := []string{"last_action", "paddle", "ball_x", "ball_y", "direction", "trail_x", "trail_y", "strike", "bricks_1", "bricks_2", "bricks_3"}
	return minAtar("Breakout", "break three rows of bricks by a ball, and keep it from the floor by a paddle", state,
		[]string{"none", "left", "right"}, channels, func(s []float32, channel int, to []int) []int {
			switch channel {
			case 0:
				return append(to, 90+int(s[1]))
			case 1:
				return append(to, 10*int(s[3])+int(s[2]))
			case 2:
				return append(to, 10*int(s[6])+int(s[5]))
			}
			for row, bricks := range s[8:11] {
				to = appendBits(to, 10*(row+1), uint32(bricks))
			}
			return to
		})
}

func minAtarFreeway() Spec {
	channels := []minAtarChannel{
		{"chicken", 1, wood}, {"car", 8, red}, {"speed 1", 8, grey}, {"speed 2", 8, grey}, {"speed 3", 8, grey}, {"speed 4", 8, grey}, {"speed 5", 8, grey},
	}
	state := slices.Concat([]string{"last_action", "row", "move_timer", "steps"}, numbered("car", 8), numbered("timer", 8), numbered("speed", 8))
	return minAtar("Freeway", "cross eight lanes of cars as often as possible", state,
		[]string{"none", "up", "down"}, channels, func(s []float32, channel int, to []int) []int {
			if channel == 0 {
				return append(to, 10*int(s[1])+4)
			}
			for i := range 8 {
				x, speed := int(s[4+i]), int(s[20+i])
				switch {
				case channel == 1:
					to = append(to, 10*(i+1)+x)
				case speed == channel-1:
					to = append(to, 10*(i+1)+(x+9)%10)
				case speed == 1-channel:
					to = append(to, 10*(i+1)+(x+1)%10)
				}
			}
			return to
		})
}

func minAtarSpaceInvaders() Spec {
	channels := []minAtarChannel{
		{"cannon", 1, blue}, {"alien", 24, green}, {"left", 24, grey}, {"right", 24, grey}, {"friendly bullet", 10, wood}, {"enemy bullet", 10, red},
	}
	state := slices.Concat([]string{"last_action", "cannon", "direction", "interval", "move_timer", "alien_timer", "cool_down"},
		numbered("aliens", 10), numbered("friendly", 10), numbered("enemy", 10))
	return minAtar("SpaceInvaders", "shoot the aliens before they come down", state,
		[]string{"none", "left", "right", "fire"}, channels, func(s []float32, channel int, to []int) []int {
			first := 7
			switch {
			case channel == 0:
				return append(to, 90+int(s[1]))
			case channel == 2 && s[2] >= 0 || channel == 3 && s[2] < 0:
				return to
			case channel >= 4:
				first += 10 * (channel - 3)
			}
			for y := range 10 {
				to = appendBits(to, 10*y, uint32(s[first+y]))
			}
			return to
		})
}

func minAtarAsterix() Spec {
	channels := []minAtarChannel{{"player", 1, blue}, {"enemy", 8, red}, {"trail", 8, grey}, {"gold", 8, wood}}
	state := slices.Concat([]string{"last_action", "x", "y", "spawn_speed", "spawn_timer", "move_speed", "move_timer", "ramp_timer", "ramp_index"},
		numbered("row", 8))
	return minAtar("Asterix", "collect gold and avoid enemies", state,
		[]string{"none", "left", "up", "right", "down"}, channels, func(s []float32, channel int, to []int) []int {
			if channel == 0 {
				return append(to, 10*int(s[2])+int(s[1]))
			}
			for i, code := range s[9:17] {
				if code < 1 {
					continue
				}
				k := int(code) - 1
				x, gold := k%10, k >= 20
				if channel == 2 {
					if x++; k/10%2 == 1 {
						x -= 2
					}
				}
				if x >= 0 && x <= 9 && (channel == 2 || gold == (channel == 3)) {
					to = append(to, 10*(i+1)+x)
				}
			}
			return to
		})
}

func minAtarSeaquest() Spec {
	channels := []minAtarChannel{
		{"front", 1, blue}, {"back", 1, blue}, {"friendly bullet", 2, wood}, {"trail", 34, grey}, {"enemy bullet", 16, red},
		{"fish", 32, red}, {"submarine", 32, green}, {"oxygen", 10, blue}, {"divers", 6, wood}, {"diver", 2, wood},
	}
	state := slices.Concat([]string{
		"last_action", "x", "y", "right", "oxygen", "surfaced", "divers", "spawn_speed", "spawn_timer", "diver_timer", "move_speed", "ramp_index",
		"cool_down", "rows",
	}, numbered("bullets", 8), numbered("friendly_bullet", 2), numbered("diver", 2), numbered("enemy", 32))
	const front, back, trail, enemyBullet, oxygen, divers, friendlyBullet = 0, 1, 3, 4, 7, 8, 2
	// behind returns the column behind x.
	behind := func(x int, right bool) int {
		if right {
			return x - 1
		}
		return x + 1
	}
	s := minAtar("Seaquest", "shoot fish and submarines, pick divers up, and surface for oxygen", state,
		slices.Clone(minAtarActions), channels, func(s []float32, channel int, to []int) []int {
			x, y := int(s[1]), int(s[2])
			switch channel {
			case front:
				return append(to, 10*y+x)
			case back:
				return append(to, 10*y+behind(x, s[3] != 0))
			case oxygen:
				for c := range int(max(s[4], 0)) / 20 {
					to = append(to, 90+c)
				}
				return to
			case divers:
				for c := range max(int(s[6]), 0) {
					to = append(to, 98-c)
				}
				return to
			case enemyBullet:
				for row, bullets := range s[14:22] {
					to = appendBits(to, 10*(row+1), uint32(bullets)|uint32(bullets)>>10)
				}
				return to
			}
			for _, code := range s[22:58] {
				k := int(code)
				x, y, right, kind := k&15, k>>4&15, k>>8&1 == 1, k>>9&15
				if channel == trail && kind != friendlyBullet {
					x = behind(x, right)
				}
				if cell := 10*y + x; kind != 0 && (kind == channel || channel == trail && kind != friendlyBullet && x >= 0 && x <= 9) && !slices.Contains(to, cell) {
					to = append(to, cell)
				}
			}
			return to
		})
	s.Iterations = 2*32/4 + 2*36/2 // over enemies, four at once; of two observations over things
	return s
}

// appendBits appends the cells of a row that begins at cell `first` whose bits are set.
func appendBits(to []int, first int, row uint32) []int {
	for x := range 10 {
		if row>>x&1 == 1 {
			to = append(to, first+x)
		}
	}
	return to
}
