package envs

func hopper() Spec {
	return robot("Hopper-v5", "hop forward on one leg of four links", "hopper_v5.py; Erez, Tassa, Todorov 2011",
		[]string{"x", "z", "angle", "thigh", "leg", "foot"}, nil, 11, 1, 3, 4*4).
		seen(&hopperModel, 4, Camera{Body: 1, LookAt: [3]float64{0, 0, 0.75}, Distance: 2.7, Azimuth: 70, Elevation: -12})
}

func walker2d() Spec {
	return robot("Walker2d-v5", "walk forward on two legs of three links, in a plane", "walker2d_v5.py; Levine, Koltun 2013",
		[]string{"x", "z", "angle", "thigh", "leg", "foot", "thigh_left", "leg_left", "foot_left"}, nil, 17, 1, 6, 4*4).
		seen(&walker2dModel, 4, Camera{Body: 1, LookAt: [3]float64{0, 0, 0.75}, Distance: 2.7, Azimuth: 70, Elevation: -12})
}

func halfCheetah() Spec {
	return robot("HalfCheetah-v5", "run forward on two legs of three links, in a plane", "half_cheetah_v5.py; Wawrzynski 2009",
		[]string{"x", "z", "angle", "bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"}, nil, 17, 1, 6, 5).
		seen(&halfCheetahModel, 5, Camera{Body: 1, LookAt: [3]float64{0, 0, 0.45}, Distance: 2.6, Azimuth: 75, Elevation: -14})
}

func swimmer() Spec {
	return robot("Swimmer-v5", "swim forward by three links in a viscous fluid", "swimmer_v5.py; Coulom 2002",
		[]string{"x", "y", "angle", "motor1", "motor2"}, nil, 8, 1, 2, 4*4).
		seen(&swimmerModel, 4, Camera{Body: 1, LookAt: [3]float64{0, 0, 0}, Distance: 4, Azimuth: 90, Elevation: -50})
}

func ant() Spec {
	return robot("Ant-v5", "walk forward on four legs of two links", "ant_v5.py; Schulman et al. 2015",
		[]string{"free", "hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3", "hip_4", "ankle_4"},
		append([]string{"lag_x", "lag_y"}, numbered("contact_force", 78)...), 105, 1, 8, 5*4).
		seen(&antModel, 5, Camera{Body: 1, LookAt: [3]float64{0, 0, 0.45}, Distance: 3.2, Azimuth: 70, Elevation: -24})
}
