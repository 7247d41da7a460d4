package envs

import (
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// networkForm is how a rollout's kernel evaluates the policy; the numbers are those of shaders/engine/nn/network.glsl.
type networkForm uint32

const (
	networkLanes  networkForm = iota // a subgroup holds a member's network in its lanes
	networkStream                    // a subgroup streams a member's network from memory
	networkOwn                       // each lane holds a network of its own
)

// network is a policy's network in one of the forms.
type network struct {
	form       networkForm
	lanes      nn.Lanes
	stream     nn.Stream
	own        nn.Own
	iterations int // of loops, that evaluating it takes an invocation through
}

// network chooses the form in which the policy costs least.
func (ro *Rollout) network(mlp nn.MLP, info vk.Info) (network, error) {
	forms := []networkForm{networkLanes, networkStream}
	if ro.alone(mlp, info) {
		forms = []networkForm{networkOwn, networkLanes, networkStream}
	}
	if ro.only != nil {
		forms = []networkForm{*ro.only}
	}
	var n network
	var err error
	for _, n.form = range forms {
		switch n.form {
		case networkOwn:
			n.own, err = mlp.Own()
		case networkLanes:
			n.lanes, err = mlp.LanesForward(info)
			n.iterations = int(n.lanes.Lanes)
		case networkStream:
			n.stream, err = mlp.Stream(info, ro.cfg.Environments)
			n.iterations = n.stream.Iterations
		}
		if err == nil {
			break
		}
	}
	return n, err
}

// alone says whether lanes had better evaluate networks alone than together. On the software driver they had: nanoseconds of CPU time a step in
// swing-up, together and alone, Mesa 22.3.6 with eight lanes (BenchmarkFewEpisodes):
//
//	environments of a member      1           8
//	[8]                        107  18     26  14
//	[16, 16]                   161  45     68  38
//	[32, 32]                   175 136    103 134
//
// A GPU's lanes have no room for it in their registers.
func (ro *Rollout) alone(mlp nn.MLP, info vk.Info) bool {
	const (
		little = 512 // parameters
		few    = 3   // environments
	)
	return !info.Type.GPU() && (mlp.Size() <= little || ro.cfg.Environments < few)
}

// set sets what a rollout's kernel wants to know.
func (n network) set(k *rolloutKernel) {
	k.Network = uint32(n.form)
	switch n.form {
	case networkOwn:
		k.Hidden1, k.Hidden2, k.Activation, k.LayerNorm = n.own.Hidden1, n.own.Hidden2, n.own.Activation, n.own.LayerNorm
	case networkLanes:
		k.Hidden1, k.Hidden2, k.Activation, k.LayerNorm = n.lanes.Hidden1, n.lanes.Hidden2, n.lanes.Activation, n.lanes.LayerNorm
	case networkStream:
		k.Hidden1, k.Activation, k.LayerNorm = 1, n.stream.Activation, n.stream.LayerNorm
		k.StreamRows, k.StreamQuads, k.StreamAligned = n.stream.Rows, n.stream.Quads, n.stream.Aligned
		k.StreamLayers, k.StreamHidden = n.stream.Layers, n.stream.Hidden
	}
}
