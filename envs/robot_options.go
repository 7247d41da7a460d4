package envs

// noBound stands for an end of a range that is open: no motion goes so far.
const noBound = 1e10

// HopperOptions are those of Gymnasium's Hopper-v5.
type HopperOptions struct {
	ForwardRewardWeight                    float32    `doc:"Reward of a metre a second forward."`
	CtrlCostWeight                         float32    `doc:"Cost of the controls' squares, summed."`
	HealthyReward                          float32    `doc:"Reward of each step in which the robot is healthy: within the ranges below."`
	TerminateWhenUnhealthy                 bool       `doc:"The episode ends when the robot is not healthy."`
	HealthyStateRange                      [2]float32 `doc:"Values of each position and velocity, but for x and z, between which the robot is healthy."`
	HealthyZRange                          [2]float32 `unit:"m" doc:"Heights of the torso between which the robot is healthy; 1e10 is no bound."`
	HealthyAngleRange                      [2]float32 `unit:"rad" doc:"Angles of the torso between which the robot is healthy."`
	ResetNoiseScale                        float32    `min:"0" doc:"Bound of the uniform noise that a reset adds to positions and velocities."`
	ExcludeCurrentPositionsFromObservation bool       `define:"POSITIONS" adds:"1" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultHopperOptions are Gymnasium's.
func DefaultHopperOptions() HopperOptions {
	return HopperOptions{
		ForwardRewardWeight:                    1,
		CtrlCostWeight:                         1e-3,
		HealthyReward:                          1,
		TerminateWhenUnhealthy:                 true,
		HealthyStateRange:                      [2]float32{-100, 100},
		HealthyZRange:                          [2]float32{0.7, noBound},
		HealthyAngleRange:                      [2]float32{-0.2, 0.2},
		ResetNoiseScale:                        5e-3,
		ExcludeCurrentPositionsFromObservation: true,
	}
}

// Walker2dOptions are those of Gymnasium's Walker2d-v5.
type Walker2dOptions struct {
	ForwardRewardWeight                    float32    `doc:"Reward of a metre a second forward."`
	CtrlCostWeight                         float32    `doc:"Cost of the controls' squares, summed."`
	HealthyReward                          float32    `doc:"Reward of each step in which the robot is healthy: within the ranges below."`
	TerminateWhenUnhealthy                 bool       `doc:"The episode ends when the robot is not healthy."`
	HealthyZRange                          [2]float32 `unit:"m" doc:"Heights of the torso between which the robot is healthy; 1e10 is no bound."`
	HealthyAngleRange                      [2]float32 `unit:"rad" doc:"Angles of the torso between which the robot is healthy."`
	ResetNoiseScale                        float32    `min:"0" doc:"Bound of the uniform noise that a reset adds to positions and velocities."`
	ExcludeCurrentPositionsFromObservation bool       `define:"POSITIONS" adds:"1" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultWalker2dOptions are Gymnasium's.
func DefaultWalker2dOptions() Walker2dOptions {
	return Walker2dOptions{
		ForwardRewardWeight:                    1,
		CtrlCostWeight:                         1e-3,
		HealthyReward:                          1,
		TerminateWhenUnhealthy:                 true,
		HealthyZRange:                          [2]float32{0.8, 2},
		HealthyAngleRange:                      [2]float32{-1, 1},
		ResetNoiseScale:                        5e-3,
		ExcludeCurrentPositionsFromObservation: true,
	}
}

// HalfCheetahOptions are those of Gymnasium's HalfCheetah-v5.
type HalfCheetahOptions struct {
	ForwardRewardWeight                    float32 `doc:"Reward of a metre a second forward."`
	CtrlCostWeight                         float32 `doc:"Cost of the controls' squares, summed."`
	ResetNoiseScale                        float32 `min:"0" doc:"Bound of a reset's uniform position noise and deviation of its Gaussian velocity noise."`
	ExcludeCurrentPositionsFromObservation bool    `define:"POSITIONS" adds:"1" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultHalfCheetahOptions are Gymnasium's.
func DefaultHalfCheetahOptions() HalfCheetahOptions {
	return HalfCheetahOptions{
		ForwardRewardWeight:                    1,
		CtrlCostWeight:                         0.1,
		ResetNoiseScale:                        0.1,
		ExcludeCurrentPositionsFromObservation: true,
	}
}

// SwimmerOptions are those of Gymnasium's Swimmer-v5.
type SwimmerOptions struct {
	ForwardRewardWeight                    float32 `doc:"Reward of a metre a second forward."`
	CtrlCostWeight                         float32 `doc:"Cost of the controls' squares, summed."`
	ResetNoiseScale                        float32 `min:"0" doc:"Bound of the uniform noise that a reset adds to positions and velocities."`
	ExcludeCurrentPositionsFromObservation bool    `define:"POSITIONS" adds:"2" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultSwimmerOptions are Gymnasium's.
func DefaultSwimmerOptions() SwimmerOptions {
	return SwimmerOptions{
		ForwardRewardWeight:                    1,
		CtrlCostWeight:                         1e-4,
		ResetNoiseScale:                        0.1,
		ExcludeCurrentPositionsFromObservation: true,
	}
}

// AntOptions are those of Gymnasium's Ant-v5.
type AntOptions struct {
	ForwardRewardWeight                    float32    `doc:"Reward of a metre a second forward."`
	CtrlCostWeight                         float32    `doc:"Cost of the controls' squares, summed."`
	ContactCostWeight                      float32    `doc:"Cost of the squares of the contacts' forces within their range, summed."`
	HealthyReward                          float32    `doc:"Reward of each step in which the robot is healthy: within the ranges below."`
	TerminateWhenUnhealthy                 bool       `doc:"The episode ends when the robot is not healthy."`
	HealthyZRange                          [2]float32 `unit:"m" doc:"Heights of the torso between which the robot is healthy; 1e10 is no bound."`
	ContactForceRange                      [2]float32 `unit:"N and N m" doc:"Bounds of the contacts' forces as they are observed and paid for."`
	ResetNoiseScale                        float32    `min:"0" doc:"Bound of a reset's uniform position noise and deviation of its Gaussian velocity noise."`
	ExcludeCurrentPositionsFromObservation bool       `define:"POSITIONS" adds:"2" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultAntOptions are Gymnasium's.
func DefaultAntOptions() AntOptions {
	return AntOptions{
		ForwardRewardWeight:                    1,
		CtrlCostWeight:                         0.5,
		ContactCostWeight:                      5e-4,
		HealthyReward:                          1,
		TerminateWhenUnhealthy:                 true,
		HealthyZRange:                          [2]float32{0.2, 1},
		ContactForceRange:                      [2]float32{-1, 1},
		ResetNoiseScale:                        0.1,
		ExcludeCurrentPositionsFromObservation: true,
	}
}

// HumanoidOptions are those of Gymnasium's Humanoid-v5.
type HumanoidOptions struct {
	ForwardRewardWeight                    float32    `doc:"Reward of a metre a second forward."`
	CtrlCostWeight                         float32    `doc:"Cost of the controls' squares, summed."`
	ContactCostWeight                      float32    `doc:"Cost of the squares of the contacts' forces, summed."`
	ContactCostRange                       [2]float32 `doc:"Bounds of that cost; 1e10 is no bound."`
	HealthyReward                          float32    `doc:"Reward of each step in which the robot is healthy: within the ranges below."`
	TerminateWhenUnhealthy                 bool       `doc:"The episode ends when the robot is not healthy."`
	HealthyZRange                          [2]float32 `unit:"m" doc:"Heights of the torso between which the robot is healthy; 1e10 is no bound."`
	ResetNoiseScale                        float32    `min:"0" doc:"Bound of the uniform noise that a reset adds to positions and velocities."`
	ExcludeCurrentPositionsFromObservation bool       `define:"POSITIONS" adds:"2" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultHumanoidOptions are Gymnasium's.
func DefaultHumanoidOptions() HumanoidOptions {
	return HumanoidOptions{
		ForwardRewardWeight:                    1.25,
		CtrlCostWeight:                         0.1,
		ContactCostWeight:                      5e-7,
		ContactCostRange:                       [2]float32{-noBound, 10},
		HealthyReward:                          5,
		TerminateWhenUnhealthy:                 true,
		HealthyZRange:                          [2]float32{1, 2},
		ResetNoiseScale:                        1e-2,
		ExcludeCurrentPositionsFromObservation: true,
	}
}

// InvertedPendulumOptions are those of Gymnasium's InvertedPendulum-v5.
type InvertedPendulumOptions struct {
	ResetNoiseScale float32 `min:"0" doc:"Bound of the uniform noise that a reset adds to positions and velocities."`
}

// DefaultInvertedPendulumOptions are Gymnasium's.
func DefaultInvertedPendulumOptions() InvertedPendulumOptions {
	return InvertedPendulumOptions{
		ResetNoiseScale: 0.01,
	}
}

// InvertedDoublePendulumOptions are those of Gymnasium's InvertedDoublePendulum-v5.
type InvertedDoublePendulumOptions struct {
	HealthyReward   float32 `doc:"Reward of each step in which the tip is high enough."`
	ResetNoiseScale float32 `min:"0" doc:"Bound of a reset's uniform position noise and deviation of its Gaussian velocity noise."`
}

// DefaultInvertedDoublePendulumOptions are Gymnasium's.
func DefaultInvertedDoublePendulumOptions() InvertedDoublePendulumOptions {
	return InvertedDoublePendulumOptions{
		HealthyReward:   10,
		ResetNoiseScale: 0.1,
	}
}

// ReacherOptions are those of Gymnasium's Reacher-v5.
type ReacherOptions struct {
	RewardDistWeight    float32 `doc:"Cost of the distance between fingertip and target."`
	RewardControlWeight float32 `doc:"Cost of the controls' squares, summed."`
}

// DefaultReacherOptions are Gymnasium's.
func DefaultReacherOptions() ReacherOptions {
	return ReacherOptions{
		RewardDistWeight:    1,
		RewardControlWeight: 1,
	}
}
