package envs

// noBound is an open end of a range: no motion reaches it.
const noBound = 1e10

// HopperOptions are the options of Gymnasium's Hopper-v5.
type HopperOptions struct {
	ForwardRewardWeight                    float32    `doc:"Reward per metre per second of forward velocity."`
	CtrlCostWeight                         float32    `doc:"Cost of the sum of the squared controls."`
	HealthyReward                          float32    `doc:"Reward of each step in which the robot is healthy: within the ranges below."`
	TerminateWhenUnhealthy                 bool       `doc:"The episode ends when the robot is not healthy."`
	HealthyStateRange                      [2]float32 `doc:"Range of each position and velocity, except x and z, in which the robot is healthy."`
	HealthyZRange                          [2]float32 `unit:"m" doc:"Range of the torso's height in which the robot is healthy; 1e10 is no bound."`
	HealthyAngleRange                      [2]float32 `unit:"rad" doc:"Range of the torso's angle in which the robot is healthy."`
	ResetNoiseScale                        float32    `min:"0" doc:"Bound of the uniform noise that a reset adds to positions and velocities."`
	ExcludeCurrentPositionsFromObservation bool       `define:"POSITIONS" adds:"1" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultHopperOptions returns Gymnasium's defaults.
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

// Walker2dOptions are the options of Gymnasium's Walker2d-v5.
type Walker2dOptions struct {
	ForwardRewardWeight                    float32    `doc:"Reward per metre per second of forward velocity."`
	CtrlCostWeight                         float32    `doc:"Cost of the sum of the squared controls."`
	HealthyReward                          float32    `doc:"Reward of each step in which the robot is healthy: within the ranges below."`
	TerminateWhenUnhealthy                 bool       `doc:"The episode ends when the robot is not healthy."`
	HealthyZRange                          [2]float32 `unit:"m" doc:"Range of the torso's height in which the robot is healthy; 1e10 is no bound."`
	HealthyAngleRange                      [2]float32 `unit:"rad" doc:"Range of the torso's angle in which the robot is healthy."`
	ResetNoiseScale                        float32    `min:"0" doc:"Bound of the uniform noise that a reset adds to positions and velocities."`
	ExcludeCurrentPositionsFromObservation bool       `define:"POSITIONS" adds:"1" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultWalker2dOptions returns Gymnasium's defaults.
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

// HalfCheetahOptions are the options of Gymnasium's HalfCheetah-v5.
type HalfCheetahOptions struct {
	ForwardRewardWeight                    float32 `doc:"Reward per metre per second of forward velocity."`
	CtrlCostWeight                         float32 `doc:"Cost of the sum of the squared controls."`
	ResetNoiseScale                        float32 `min:"0" doc:"Bound of a reset's uniform position noise and deviation of its Gaussian velocity noise."`
	ExcludeCurrentPositionsFromObservation bool    `define:"POSITIONS" adds:"1" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultHalfCheetahOptions returns Gymnasium's defaults.
func DefaultHalfCheetahOptions() HalfCheetahOptions {
	return HalfCheetahOptions{
		ForwardRewardWeight:                    1,
		CtrlCostWeight:                         0.1,
		ResetNoiseScale:                        0.1,
		ExcludeCurrentPositionsFromObservation: true,
	}
}

// SwimmerOptions are the options of Gymnasium's Swimmer-v5.
type SwimmerOptions struct {
	ForwardRewardWeight                    float32 `doc:"Reward per metre per second of forward velocity."`
	CtrlCostWeight                         float32 `doc:"Cost of the sum of the squared controls."`
	ResetNoiseScale                        float32 `min:"0" doc:"Bound of the uniform noise that a reset adds to positions and velocities."`
	ExcludeCurrentPositionsFromObservation bool    `define:"POSITIONS" adds:"2" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultSwimmerOptions returns Gymnasium's defaults.
func DefaultSwimmerOptions() SwimmerOptions {
	return SwimmerOptions{
		ForwardRewardWeight:                    1,
		CtrlCostWeight:                         1e-4,
		ResetNoiseScale:                        0.1,
		ExcludeCurrentPositionsFromObservation: true,
	}
}

// AntOptions are the options of Gymnasium's Ant-v5.
type AntOptions struct {
	ForwardRewardWeight                    float32    `doc:"Reward per metre per second of forward velocity."`
	CtrlCostWeight                         float32    `doc:"Cost of the sum of the squared controls."`
	ContactCostWeight                      float32    `doc:"Cost of the sum of the squared contact forces, clipped to their range."`
	HealthyReward                          float32    `doc:"Reward of each step in which the robot is healthy: within the ranges below."`
	TerminateWhenUnhealthy                 bool       `doc:"The episode ends when the robot is not healthy."`
	HealthyZRange                          [2]float32 `unit:"m" doc:"Range of the torso's height in which the robot is healthy; 1e10 is no bound."`
	ContactForceRange                      [2]float32 `unit:"N and N m" doc:"Bounds of the contact forces in observation and cost."`
	ResetNoiseScale                        float32    `min:"0" doc:"Bound of a reset's uniform position noise and deviation of its Gaussian velocity noise."`
	ExcludeCurrentPositionsFromObservation bool       `define:"POSITIONS" adds:"2" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultAntOptions returns Gymnasium's defaults.
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

// HumanoidOptions are the options of Gymnasium's Humanoid-v5.
type HumanoidOptions struct {
	ForwardRewardWeight                    float32    `doc:"Reward per metre per second of forward velocity."`
	CtrlCostWeight                         float32    `doc:"Cost of the sum of the squared controls."`
	ContactCostWeight                      float32    `doc:"Cost of the sum of the squared contact forces."`
	ContactCostRange                       [2]float32 `doc:"Bounds of that cost; 1e10 is no bound."`
	HealthyReward                          float32    `doc:"Reward of each step in which the robot is healthy: within the ranges below."`
	TerminateWhenUnhealthy                 bool       `doc:"The episode ends when the robot is not healthy."`
	HealthyZRange                          [2]float32 `unit:"m" doc:"Range of the torso's height in which the robot is healthy; 1e10 is no bound."`
	ResetNoiseScale                        float32    `min:"0" doc:"Bound of the uniform noise that a reset adds to positions and velocities."`
	ExcludeCurrentPositionsFromObservation bool       `define:"POSITIONS" adds:"2" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultHumanoidOptions returns Gymnasium's defaults.
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

// InvertedPendulumOptions are the options of Gymnasium's InvertedPendulum-v5.
type InvertedPendulumOptions struct {
	ResetNoiseScale float32 `min:"0" doc:"Bound of the uniform noise that a reset adds to positions and velocities."`
}

// DefaultInvertedPendulumOptions returns Gymnasium's defaults.
func DefaultInvertedPendulumOptions() InvertedPendulumOptions {
	return InvertedPendulumOptions{
		ResetNoiseScale: 0.01,
	}
}

// InvertedDoublePendulumOptions are the options of Gymnasium's InvertedDoublePendulum-v5.
type InvertedDoublePendulumOptions struct {
	HealthyReward   float32 `doc:"Reward of each step in which the tip is high enough."`
	ResetNoiseScale float32 `min:"0" doc:"Bound of a reset's uniform position noise and deviation of its Gaussian velocity noise."`
}

// DefaultInvertedDoublePendulumOptions returns Gymnasium's defaults.
func DefaultInvertedDoublePendulumOptions() InvertedDoublePendulumOptions {
	return InvertedDoublePendulumOptions{
		HealthyReward:   10,
		ResetNoiseScale: 0.1,
	}
}

// ReacherOptions are the options of Gymnasium's Reacher-v5.
type ReacherOptions struct {
	RewardDistWeight    float32 `doc:"Cost of the distance between fingertip and target."`
	RewardControlWeight float32 `doc:"Cost of the sum of the squared controls."`
}

// DefaultReacherOptions returns Gymnasium's defaults.
func DefaultReacherOptions() ReacherOptions {
	return ReacherOptions{
		RewardDistWeight:    1,
		RewardControlWeight: 1,
	}
}

// PusherOptions are the options of Gymnasium's Pusher-v5.
type PusherOptions struct {
	RewardNearWeight    float32 `doc:"Cost of the distance between fingertips and object."`
	RewardDistWeight    float32 `doc:"Cost of the distance between object and goal."`
	RewardControlWeight float32 `doc:"Cost of the sum of the squared controls."`
}

// DefaultPusherOptions returns Gymnasium's defaults.
func DefaultPusherOptions() PusherOptions {
	return PusherOptions{
		RewardNearWeight:    0.5,
		RewardDistWeight:    1,
		RewardControlWeight: 0.1,
	}
}

// HumanoidStandupOptions are the options of Gymnasium's HumanoidStandup-v5, without uph_cost_weight, which has no effect
// there.
type HumanoidStandupOptions struct {
	CtrlCostWeight                         float32    `doc:"Cost of the sum of the squared controls."`
	ImpactCostWeight                       float32    `doc:"Cost of the sum of the squared contact forces."`
	ImpactCostRange                        [2]float32 `doc:"Bounds of that cost; 1e10 is no bound."`
	ResetNoiseScale                        float32    `min:"0" doc:"Bound of the uniform noise that a reset adds to positions and velocities."`
	ExcludeCurrentPositionsFromObservation bool       `define:"POSITIONS" adds:"2" doc:"Omit positions without effect; false needs glslc or glslangValidator."`
}

// DefaultHumanoidStandupOptions returns Gymnasium's defaults.
func DefaultHumanoidStandupOptions() HumanoidStandupOptions {
	return HumanoidStandupOptions{
		CtrlCostWeight:                         0.1,
		ImpactCostWeight:                       5e-7,
		ImpactCostRange:                        [2]float32{-noBound, 10},
		ResetNoiseScale:                        1e-2,
		ExcludeCurrentPositionsFromObservation: true,
	}
}
