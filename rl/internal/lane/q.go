package lane

import (
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/internal/processor"
)

// Q is an update of DQN: a network of action values and its target.
type Q struct {
	Optimizer       *optim.Optimizer
	Target          *engine.Tensor // [M, row]
	Clock           engine.Clock
	Interval, Tau   *engine.Tensor // [M]
	RewardScale     *engine.Tensor // [M]
	Value, Loss     *engine.Tensor // [M, B]: of the last update
	Huber           float64
	Double, Dueling bool
}

// PlanQ plans updates of DQN (dqn_update.comp). Lanes may hold its networks in panels.
func PlanQ(a Agent, network nn.Model, double bool) *Updates {
	columns, err := nn.ColumnsOf(network, a.Info)
	evaluated := 2
	if double {
		evaluated = 3
	}
	return a.plan(columns.Lanes, err, work{
		largest: network, bindings: 22, networks: 1,
		evaluated: evaluated * columns.Panels, learned: columns.Panels, shared: evaluated * network.Outputs(),
	})
}

// Q completes planned updates once the networks are made.
func (u *Updates) Q(s *engine.State, network nn.Model, q Q) {
	if !u.begin(s, q.Optimizer.Params(), q.Optimizer.Params().Size("parameter")) {
		return
	}
	u.record = func(r *engine.Recorder, common batches) {
		columns, err := nn.ColumnsOf(network, u.agent.Info)
		if err != nil {
			r.Fail(err)
			return
		}
		of, c := q.Optimizer, q.Optimizer.Config()
		params, stride := of.Params().Stacked()
		k := dqnUpdateKernel{
			LearningRate: of.Rate().Range(), Interval: q.Interval.Range(), Updates: of.Updates().Range(), Refused: of.Refused().Range(),
			Row: uint32(of.Params().Size("parameter")), Stride: uint32(stride), Target: uint32(q.Target.Offset(of.Params())),
			Huber: float32(q.Huber), MaxNorm: float32(c.MaxNorm), Width2: columns.Width2, Double: q.Double, Dueling: q.Dueling,
		}
		fill(r, &k, common, lanesOf(columns.Lanes), constantsOf(c), learned{
			Params: params, Updated4: params, Gradient: u.gradients.Range(), Summed: u.gradients.Range(),
			RewardScale: q.RewardScale.Range(), Tau: q.Tau.Range(), Clock: q.Clock.Tensor().Range(), Norm: of.Norm().Range(),
			Value: q.Value.Range(), Loss: q.Loss.Range(),
			In: uint32(network.Inputs().Size()), Out: uint32(network.Outputs()), Batch: uint32(u.agent.Batch), LocalSizeX: columns.Lanes.Lanes,
			Halved: processor.HalvedStores(u.agent.Info.Driver, columns.Lanes.Lanes),
		})
		dispatch(r, k.call(uint32(u.agent.Members), 1, 1), columns.Lanes.Lanes)
	}
}
