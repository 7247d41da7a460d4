package envs

// cartPoleMasked is CartPole-v1 without velocities in its observations.
func cartPoleMasked() Spec {
	s := cartPole()
	s.Name, s.Summary = "CartPoleMasked-v1", "balance a pole by pushing its cart, without seeing velocities"
	s.Source += "; POPGym, Morad et al. 2023"
	s.Observation = Symmetric(s.Observation.High[0], s.Observation.High[2])
	return s
}

// pendulumMasked is Pendulum-v1 without its angular velocity in its observations.
func pendulumMasked() Spec {
	s := pendulum()
	s.Name, s.Summary = "PendulumMasked-v1", "swing a pendulum up and hold it, without seeing its velocity"
	s.Source += "; POPGym, Morad et al. 2023"
	s.Observation = Symmetric(1, 1)
	return s
}
