// Package lane holds the forms of learning that keep small networks in the lanes of a subgroup: the gradient of a minibatch's loss in one
// dispatch, and many updates of an agent in one dispatch. What algorithms ask for is the same in every form.
//
// Software drivers' memory is slow compared with their registers: many updates in one dispatch take a half to a quarter
// of the time of separate ones. On GPUs networks are evaluated layer by layer, or a minibatch at a time.
package lane

import (
	"fmt"
	"math"
	"reflect"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/engine/optim"
	"github.com/evorl/evorl/vk"
)

// Limits of kernels that make many updates. Mesa's software driver leaves all loops of an invocation after 65535 iterations.
const (
	Worth         = 2048  // fewest transitions in an iteration's updates that repay the seconds of compiling
	maxIterations = 60000 // of loops in a dispatch
	blockRows     = 4     // transitions that a block adds to the gradient, BLOCK in mlp_block.glsl; the number of lanes is a multiple of it
)

// lanes are the fields of kernels that lay out a network.
type lanes struct {
	Lanes, Hidden1, Hidden2, Activation uint32
}

func lanesOf(l nn.Lanes) lanes { return lanes{l.Lanes, l.Hidden1, l.Hidden2, l.Activation} }

// constants are the fields of kernels for an update rule's constants.
type constants struct {
	Beta1, Beta2, Gain1, Gain2, LogBeta1, LogBeta2, Epsilon float32
}

func constantsOf(c optim.Config) constants {
	return constants{
		Beta1: float32(c.Beta1), Beta2: float32(c.Beta2), Gain1: float32(1 - c.Beta1), Gain2: float32(1 - c.Beta2),
		LogBeta1: float32(math.Log(c.Beta1)), LogBeta2: float32(math.Log(c.Beta2)), Epsilon: float32(c.Epsilon),
	}
}

// rows are the fields of kernels for actors and critics in one buffer, each with its moments behind it.
type rows struct {
	Updates, Refused, CriticUpdates, CriticRefused         vk.Range
	ActorRow, ActorStride, Critic, CriticRow, CriticStride uint32
}

// rowsOf returns them for `each` critics per member.
func rowsOf(actor, critics *optim.Optimizer, each int) rows {
	_, actorStride := actor.Params().Stacked()
	_, criticStride := critics.Params().Stacked()
	return rows{
		Updates: actor.Updates().Range(), Refused: actor.Refused().Range(),
		CriticUpdates: critics.Updates().Range(), CriticRefused: critics.Refused().Range(),
		ActorRow: uint32(actor.Params().Size("parameter")), ActorStride: uint32(actorStride),
		Critic:    uint32(critics.Params().Offset(actor.Params())),
		CriticRow: uint32(critics.Params().Size("parameter") / each), CriticStride: uint32(criticStride),
	}
}

// head are the fields of kernels for a head.
type head struct {
	Head, HeadWidth       uint32
	LogStdLow, LogStdHigh float32
}

func headOf(h nn.Head) head {
	c := h.Constants()
	return head{c.Head, c.HeadWidth, c.LogStdLow, c.LogStdHigh}
}

// fill sets the fields of a kernel, given by its address, to the fields of the same names in parts. Kernels that do the
// same work share parts.
func fill(r *engine.Recorder, kernel any, parts ...any) {
	to := reflect.ValueOf(kernel).Elem()
	for _, part := range parts {
		from := reflect.ValueOf(part)
		for i := range from.NumField() {
			name := from.Type().Field(i).Name
			field := to.FieldByName(name)
			if !field.IsValid() {
				r.Fail(fmt.Errorf("lane: %v has no field %s of %v", to.Type(), name, from.Type()))
				continue
			}
			field.Set(from.Field(i))
		}
	}
}

// bindable reports whether a kernel can bind all parameters of an agent at once.
func bindable(info vk.Info, params *engine.Tensor) bool {
	return uint64(params.StackBytes()) <= info.Limits.MaxStorageRange
}

// dispatch records a call of subgroups.
func dispatch(r *engine.Recorder, call vk.Call, lanes uint32) {
	call.Subgroup = lanes
	r.Dispatch(call)
}
