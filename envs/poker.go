package envs

import "fmt"

// pokerTable is what a picture of poker shows: ranks of the cards of both seats and of the board, -1: none, and the chips that the seats have paid.
type pokerTable struct {
	cards [3]int
	paid  [2]int
}

// Sizes of the picture of poker.
const (
	pokerRanks = 3
	pokerChips = 13 // that a seat pays at most
)

// pokerGeometry shows a table from above: player 0's card, chips and edge, blue, are below, player 1's, red, above, the board's card is in the middle. A
// card of rank r has r + 1 marks. Cards and chips that are nowhere are under the table.
func pokerGeometry(actions []string, table func(state []float32) pokerTable) *Geometry {
	g := &Geometry{
		Bodies: []string{"world"},
		Shapes: []Shape{box("table", 0, [3]float64{0, 0, -0.1}, [3]float64{6, 4.4, 0.2}, ground)},
		Camera: Camera{Distance: 7, Azimuth: 90, Elevation: -70},
		Time:   0.5, Actions: actions,
	}
	body := func(name string, shapes ...Shape) {
		for i := range shapes {
			shapes[i].Body = len(g.Bodies)
		}
		g.Bodies, g.Shapes = append(g.Bodies, name), append(g.Shapes, shapes...)
	}
	for i, owner := range []struct {
		name  string
		color [4]float64
	}{{"player 0", blue}, {"player 1", red}, {"board", wood}} {
		for rank := range pokerRanks {
			card := []Shape{box("card", 0, [3]float64{0, 0, 0.05}, [3]float64{0.9, 1.1, 0.1}, owner.color)}
			for mark := range rank + 1 {
				card = append(card, box("mark", 0, [3]float64{0.25 * (float64(mark) - float64(rank)/2), 0, 0.12}, [3]float64{0.15, 0.5, 0.06}, dark))
			}
			body(fmt.Sprintf("%s's card %d", owner.name, rank), card...)
		}
		for chip := range pokerChips {
			if i < 2 {
				body(fmt.Sprintf("%s's chip %d", owner.name, chip), Shape{Name: "chip", Form: CylinderShape, Size: [3]float64{0.13, 0.04}, Color: gold})
			}
		}
	}
	g.Poses = func(s []float32) []Pose {
		of, poses := table(s), []Pose{{}}
		at := func(shown bool, x, y float64) {
			z := 0.05
			if !shown {
				z = -1
			}
			poses = append(poses, Pose{Pos: [3]float64{x, y, z}})
		}
		for i := range of.cards {
			y := []float64{-1.4, 1.4, 0}[i]
			for rank := range pokerRanks {
				at(of.cards[i] == rank, -1.5, y)
			}
			for chip := range pokerChips {
				if i < 2 {
					at(chip < of.paid[i], -0.7+0.28*float64(chip), y)
				}
			}
		}
		return poses
	}
	return g
}
