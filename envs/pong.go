package envs

import (
	"math"

	"github.com/evorl/evorl/engine/nn"
)

// PongOptions are the options of PongDuel.
type PongOptions struct {
	Rounds float32 `min:"1" doc:"Rounds of a game, an episode."`
}

// PongScriptOptions are the options of Pong and PongImage.
type PongScriptOptions struct {
	Rounds float32 `min:"1" doc:"Rounds of a game, an episode."`
	Random float32 `min:"0" max:"1" doc:"Probability that the opponent's action is a random one; otherwise it follows the ball."`
}

// pongRounds is the number of rounds of a game, and pongRoundSteps of a round's steps, after which nobody scores in it.
const (
	pongRounds     = 20
	pongRoundSteps = 1000
)

// pong is Pong against the scripted opponent (shaders/envs/pong.glsl has the rules).
func pong() Spec {
	s := pongSpec("Pong-v0", "play Pong against a bat that follows the ball")
	s.Options = PongScriptOptions{Rounds: pongRounds}
	return s
}

// pongImage is Pong against the script, seen as the last four pictures (shaders/envs/pong_picture.glsl).
func pongImage() Spec {
	s := pong()
	s.Name, s.Summary = "PongImage-v0", "play Pong against a bat that follows the ball, seen as four grey pictures"
	s.Observation = Image(40, 32, 4)
	s.Observation.Element, s.Observation.Frames = nn.Bytes, 4
	s.State = append(s.State, "bat_0_3_before", "bat_0_2_before", "bat_0_1_before", "bat_1_3_before", "bat_1_2_before", "bat_1_1_before")
	return s
}

// pongDuel is Pong between two seats, each of which sees it from its own side.
func pongDuel() Spec {
	s := pongSpec("PongDuel-v0", "play Pong against each other")
	s.Agents, s.Options = 2, PongOptions{Rounds: pongRounds}
	return s
}

func pongSpec(name, summary string) Spec {
	// Bats stay in the arena; the ball may be out of it by a step, and above and below by none.
	low, high := []float32{0, 0}, []float32{1, 1}
	for range 4 {
		low, high = append(low, float32(math.Inf(-1)), 0), append(high, float32(math.Inf(1)), 1)
	}
	return Spec{
		Name: name, Summary: summary, Source: "Lamarckian's rules; Jiang et al. 2022",
		Observation: Box(low, high), Action: Discrete(3),
		State: []string{
			"bat_0", "bat_1", "x_3_before", "x_2_before", "x_1_before", "x", "y_3_before", "y_2_before", "y_1_before", "y", "vx", "vy",
			"score_0", "score_1", "round_steps", "rounds",
		},
		MaxSteps: pongRounds * pongRoundSteps, Geometry: pongGeometry(),
	}
}

// pongGeometry shows the arena upright: player 0 is blue, at the left, player 1 red. Above are marks that move outwards with the scores.
func pongGeometry() *Geometry {
	const top, bottom, width, ball, batWidth, batHeight = 34, 194, 160, 4, 5, 15
	const scale = 0.05
	g := batsGeometry([3]float64{scale * width / 2, 0, -scale * (top + bottom) / 2}, scale*width, scale*(bottom-top),
		[3]float64{scale * batWidth, 0.3, scale * batHeight}, scale*ball)
	g.Time, g.Actions = 1./30, []string{"up", "stay", "down"}
	at := func(x, y float32) Pose { return Pose{Pos: [3]float64{scale * float64(x), 0, -scale * float64(y)}} }
	g.Poses = func(s []float32) []Pose {
		const left, right, mark, above = 16, 139, 3, 28
		return []Pose{
			{}, at(left+batWidth/2., s[0]+batHeight/2.), at(right+batWidth/2., s[1]+batHeight/2.), at(s[5]+ball/2, s[9]+ball/2),
			at(width/2-mark*(1+s[12]), above), at(width/2+mark*(1+s[13]), above),
		}
	}
	return g
}

// batsGeometry is an upright arena of the given middle, width and height, with two bats, a ball and marks of the scores, whose poses follow the world's in
// this order. Player 0 is blue, player 1 red. Time, Actions and Poses are left to the caller.
func batsGeometry(middle [3]float64, width, height float64, bat [3]float64, ball float64) *Geometry {
	return &Geometry{
		Bodies: []string{"world", "player 0", "player 1", "ball", "score 0", "score 1"},
		Shapes: []Shape{
			box("arena", 0, [3]float64{middle[0], 0.4, middle[2]}, [3]float64{width, 0.2, height}, dark),
			box("player 0", 1, [3]float64{}, bat, blue), box("player 1", 2, [3]float64{}, bat, red),
			box("ball", 3, [3]float64{}, [3]float64{ball, 0.3, ball}, wood),
			box("score 0", 4, [3]float64{}, [3]float64{0.15, 0.2, 0.4}, blue), box("score 1", 5, [3]float64{}, [3]float64{0.15, 0.2, 0.4}, red),
		},
		Camera: Camera{LookAt: middle, Distance: 12, Azimuth: 90, Elevation: -2},
	}
}
