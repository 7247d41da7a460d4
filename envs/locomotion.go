package envs

import "slices"

func hopper() Spec {
	return robot("Hopper-v5", "hop forward on one leg of four links", "hopper_v5.py; Erez, Tassa, Todorov 2011",
		[]string{"x", "z", "angle", "thigh", "leg", "foot"}, nil, 11, 1, 3).
		seen(&hopperModel, 4, Camera{Body: 1, LookAt: [3]float64{0, 0, 0.75}, Distance: 2.7, Azimuth: 70, Elevation: -12}).
		choosing(DefaultHopperOptions()).solved(3800)
}

func walker2d() Spec {
	return robot("Walker2d-v5", "walk forward on two legs of three links, in a plane", "walker2d_v5.py; Levine, Koltun 2013",
		[]string{"x", "z", "angle", "thigh", "leg", "foot", "thigh_left", "leg_left", "foot_left"}, nil, 17, 1, 6).
		seen(&walker2dModel, 4, Camera{Body: 1, LookAt: [3]float64{0, 0, 0.75}, Distance: 2.7, Azimuth: 70, Elevation: -12}).
		standing(feet{model: &walker2dModel, shapes: []string{"foot_geom", "foot_left_geom"}, hidden: 1}).
		choosing(DefaultWalker2dOptions())
}

func halfCheetah() Spec {
	return robot("HalfCheetah-v5", "run forward on two legs of three links, in a plane", "half_cheetah_v5.py; Wawrzynski 2009",
		[]string{"x", "z", "angle", "bthigh", "bshin", "bfoot", "fthigh", "fshin", "ffoot"}, nil, 17, 1, 6).
		seen(&halfCheetahModel, 5, Camera{Body: 1, LookAt: [3]float64{0, 0, 0.45}, Distance: 2.6, Azimuth: 75, Elevation: -14}).
		standing(feet{model: &halfCheetahModel, shapes: []string{"bfoot", "ffoot"}, hidden: 1}).
		choosing(DefaultHalfCheetahOptions()).solved(4800)
}

func swimmer() Spec {
	return robot("Swimmer-v5", "swim forward by three links in a viscous fluid", "swimmer_v5.py; Coulom 2002",
		[]string{"x", "y", "angle", "motor1", "motor2"}, nil, 8, 1, 2).
		seen(&swimmerModel, 4, Camera{Body: 1, LookAt: [3]float64{0, 0, 0}, Distance: 4, Azimuth: 90, Elevation: -50}).
		choosing(DefaultSwimmerOptions()).solved(360)
}

func ant() Spec {
	return robot("Ant-v5", "walk forward on four legs of two links", "ant_v5.py; Schulman et al. 2015",
		[]string{"free", "hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3", "hip_4", "ankle_4"},
		append([]string{"lag_x", "lag_y"}, numbered("contact_force", 78)...), 105, 1, 8).
		seen(&antModel, 5, Camera{Body: 1, LookAt: [3]float64{0, 0, 0.45}, Distance: 3.2, Azimuth: 70, Elevation: -24}).
		standing(feet{
			model: &antModel, shapes: []string{"left_ankle_geom", "right_ankle_geom", "third_ankle_geom", "fourth_ankle_geom"}, margin: 0.02, hidden: 2,
		}).
		withCooperative(11804, &antTables).choosing(DefaultAntOptions()).solved(6000)
}

func humanoid() Spec {
	return person("Humanoid-v5", "walk forward on two legs, with a body of thirteen parts", "humanoid_v5.py", "lag_x", "lag_y").
		seen(&humanoidModel, 5, Camera{Body: 1, LookAt: [3]float64{0, 0, 1}, Distance: 4, Azimuth: 70, Elevation: -15}).
		withCooperative(18836, &humanoidTables).choosing(DefaultHumanoidOptions())
}

func humanoidStandup() Spec {
	return person("HumanoidStandup-v5", "stand up from lying on the back, with a body of thirteen parts", "humanoidstandup_v5.py").
		seen(&humanoidstandupModel, 5, Camera{Body: 1, LookAt: [3]float64{0, 0, 0.8}, Distance: 4, Azimuth: 70, Elevation: -15}).
		withCooperative(18836, &humanoidstandupTables).choosing(DefaultHumanoidStandupOptions())
}

// person returns the Spec of an environment with the body of thirteen parts, which remembers values of its own before
// what is observed.
func person(name, summary, source string, own ...string) Spec {
	joints := []string{
		"free", "abdomen_z", "abdomen_y", "abdomen_x",
		"right_hip_x", "right_hip_z", "right_hip_y", "right_knee", "left_hip_x", "left_hip_z", "left_hip_y", "left_knee",
		"right_shoulder1", "right_shoulder2", "right_elbow", "left_shoulder1", "left_shoulder2", "left_elbow",
	}
	remembers := slices.Concat(own, numbered("inertia", 130), numbered("body_velocity", 78), numbered("motor", 17), numbered("contact_force", 78))
	return robot(name, summary, source+"; Tassa, Erez, Todorov 2012", joints, remembers, 348, 0.4, 17)
}
