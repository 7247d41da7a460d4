package envs

// PufferPongOptions are the options of PufferPong.
type PufferPongOptions struct {
	Points    float32 `min:"1" doc:"Points of one player that end a game."`
	FrameSkip float32 `min:"1" max:"16" doc:"Frames for which an action is taken."`
}

// pufferPong is Pong by PufferLib's rules (shaders/envs/puffer_pong.glsl), with its paddles, ball and speeds.
func pufferPong() Spec {
	return Spec{
		Name: "PufferPong-v0", Summary: "play PufferLib's Pong against a paddle that follows the ball", Source: "PufferLib's rules; Suarez 2024",
		// The ball may be out of the arena by a frame's way, at the left, above and below.
		Observation: Box([]float32{0, 0, -0.03, -0.03, 0, 0, 0, 0}, []float32{1, 1, 1, 1, 1, 1, 1, 1}),
		Action:      Discrete(3),
		State: []string{
			"paddle_left", "paddle_right", "x", "y", "vx", "vy", "score_left", "score_right",
			"seen_paddle_left", "seen_paddle_right", "seen_x", "seen_y", "seen_vx", "seen_vy",
		},
		MaxSteps: pufferPongSteps, Iterations: 16, Options: PufferPongOptions{Points: 21, FrameSkip: 4}, Geometry: pufferPongGeometry(),
	}
}

// pufferPongSteps is evorl's: PufferLib has no limit, and evaluations need one.
const pufferPongSteps = 10000

// pufferPongGeometry shows the arena upright: the script is player 0, at the left, the agent player 1. Above are marks that move outwards with the scores.
func pufferPongGeometry() *Geometry {
	const width, height, ball, paddleWidth, paddle = 500, 640, 32, 20, 70
	const scale, mark, above = 8. / height, 10, height + 20
	g := batsGeometry([3]float64{scale * width / 2, 0, scale * height / 2}, scale*width, scale*height,
		[3]float64{scale * paddleWidth, 0.3, scale * paddle}, scale*ball)
	g.Time, g.Actions = 4./60, []string{"stay", "up", "down"}
	at := func(x, y float32) Pose { return Pose{Pos: [3]float64{scale * float64(x), 0, scale * float64(y)}} }
	g.Poses = func(s []float32) []Pose {
		return []Pose{
			{}, at(-paddleWidth/2, s[0]+paddle/2), at(width+paddleWidth/2, s[1]+paddle/2), at(s[2]+ball/2, s[3]+ball/2),
			at(width/2-mark*(1+s[6]), above), at(width/2+mark*(1+s[7]), above),
		}
	}
	return g
}
