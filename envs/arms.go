package envs

func invertedPendulum() Spec {
	s := robot("InvertedPendulum-v5", "keep a pole upright on a cart, by pushing the cart", "inverted_pendulum_v5.py; Barto, Sutton, Anderson 1983",
		[]string{"x", "angle"}, nil, 4, 3, 1).
		seen(&invertedPendulumModel, 2, Camera{LookAt: [3]float64{0, 0, 0.25}, Distance: 1.9, Azimuth: 90, Elevation: -14})
	s.RewardThreshold = Solved(950)
	s.Options = DefaultInvertedPendulumOptions()
	return s
}

func invertedDoublePendulum() Spec {
	s := robot("InvertedDoublePendulum-v5", "keep two poles upright, one on the other, on a cart", "inverted_double_pendulum_v5.py",
		[]string{"x", "angle", "angle2"}, []string{"rail_force"}, 9, 1, 1).
		seen(&invertedDoublePendulumModel, 5, Camera{LookAt: [3]float64{0, 0, 0.45}, Distance: 2.7, Azimuth: 90, Elevation: -10})
	s.RewardThreshold = Solved(9100)
	s.Options = DefaultInvertedDoublePendulumOptions()
	return s
}

func reacher() Spec {
	s := robot("Reacher-v5", "reach a target with the tip of an arm of two links", "reacher_v5.py",
		[]string{"joint0", "joint1", "target_x", "target_y"}, []string{"apart_x", "apart_y"}, 10, 1, 2).
		seen(&reacherModel, 2, Camera{LookAt: [3]float64{0, 0, 0}, Distance: 0.82, Azimuth: 90, Elevation: -60})
	s.MaxSteps, s.RewardThreshold = 50, Solved(-3.75)
	s.Options = DefaultReacherOptions()
	return s
}

func pusher() Spec {
	joints := []string{
		"shoulder_pan", "shoulder_lift", "upper_arm_roll", "elbow_flex", "forearm_roll", "wrist_flex", "wrist_roll", "object_y", "object_x", "goal_y", "goal_x",
	}
	remembers := []string{"tips_x", "tips_y", "tips_z", "object_at_x", "object_at_y", "object_at_z", "goal_at_x", "goal_at_y", "goal_at_z"}
	s := robot("Pusher-v5", "push a cylinder to a goal with the fingers of an arm of seven joints", "pusher_v5.py", joints, remembers, 23, 2, 7).
		seen(&pusherModel, 5, Camera{LookAt: [3]float64{0.3, -0.3, -0.2}, Distance: 2.2, Azimuth: 90, Elevation: -40})
	s.MaxSteps, s.RewardThreshold = 100, Solved(0)
	s.Iterations = 5*1*(1+12*(1+8)) + 64 // of the dynamics (TestRobotIterations), and of a reset's search for a place
	s.Options = DefaultPusherOptions()
	return s
}
