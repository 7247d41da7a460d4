package hybrid

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
)

// memberSlice is a part of the members with its workflow. What changes the workflow is an operation, so that another device or a worker elsewhere can do it,
// and it can be done again where that one is lost.
type memberSlice struct {
	first, members int
	where          string           // the device, for errors; "": another than the first, whose errors are said to be its
	of             engine.Trainable // nil: the slice is elsewhere
	names          []string         // of its metrics, in the order of a step's result

	evaluate engine.Fitness  // nil: fitness is not asked for
	episodes int             // of fitness
	fitness  *engine.Program // nil: it is not recorded
	results  *engine.Tensor  // [M, results of a member] of fitness

	renewed *engine.Program // nil: policies are not copied
	copied  *engine.Tensor  // [M] u32 of renewed

	elsewhere // where the slice goes on, if not here
}

// opKind is what an operation does.
type opKind uint8

const (
	opStep     opKind = iota // iteration N; its result are the metrics [metric, M] and the environment steps
	opInit                   // begin a run; its result are the environment steps
	opPrepare                // make and compile what iterations and evaluations of N episodes need
	opFitness                // its result is the fitness, N numbers for a member
	opRenew                  // begin anew what belongs to policies that were taken over, where Data [M] u32 is another member
	opRead                   // N elements of tensor Name from At on
	opWrite                  // set elements of tensor Name from At on to Data
	opEvaluate               // N episodes; its result is an engine.Evaluation
	opPosition               // its result is the state's position
	opMoveTo                 // make Data the state's position
)

// sliceOp is an operation. Those that change nothing are not repeated.
type sliceOp struct {
	Kind  opKind
	N, At int
	Name  string
	Data  []byte
}

func (o sliceOp) changes() bool {
	return o.Kind == opStep || o.Kind == opInit || o.Kind == opFitness || o.Kind == opRenew || o.Kind == opWrite || o.Kind == opMoveTo
}

// size returns the bytes that an operation and its result take in messages, if they are many.
func (o sliceOp) size() int {
	if o.Kind == opRead {
		return 4 * o.N
	}
	return len(o.Data)
}

// ending waits for what an operation has begun, and returns its result.
type ending func(ctx context.Context) ([]byte, error)

func ended(result []byte) ending {
	return func(context.Context) ([]byte, error) { return result, nil }
}

// begin begins an operation. The device computes while the host goes on to others.
func (m *memberSlice) begin(ctx context.Context, op sliceOp) (ending, error) {
	switch op.Kind {
	case opStep:
		t, err := m.of.Step(ctx, op.N)
		return func(ctx context.Context) ([]byte, error) {
			if err := t.Wait(ctx); err != nil {
				return nil, err
			}
			return m.measured(ctx, op.N)
		}, err
	case opInit:
		if err := m.of.Init(ctx); err != nil {
			return nil, err
		}
		steps, err := m.steps(ctx)
		return ended(steps), err
	case opPrepare:
		return ended(nil), m.of.Prepare(ctx, op.N)
	case opFitness:
		if err := m.recordFitness(op.N); err != nil {
			return nil, err
		}
		t, err := m.fitness.Submit(ctx)
		return func(ctx context.Context) ([]byte, error) {
			if err := t.Wait(ctx); err != nil {
				return nil, err
			}
			return m.results.ReadBytes(ctx)
		}, err
	case opRenew:
		if err := m.renew(); err != nil {
			return nil, err
		}
		if err := m.copied.WriteBytes(ctx, op.Data); err != nil {
			return nil, err
		}
		t, err := m.renewed.Submit(ctx)
		return func(ctx context.Context) ([]byte, error) { return nil, t.Wait(ctx) }, err
	case opRead:
		part, err := m.part(op.Name, op.At, op.N)
		if err != nil {
			return nil, err
		}
		data, err := part.ReadBytes(ctx)
		return ended(data), err
	case opWrite:
		part, err := m.part(op.Name, op.At, len(op.Data)/4)
		if err != nil {
			return nil, err
		}
		return ended(nil), part.WriteBytes(ctx, op.Data)
	case opEvaluate:
		e, err := m.of.Evaluate(ctx, op.N)
		if err != nil {
			return nil, err
		}
		data, err := encodeGob(e)
		return ended(data), err
	case opPosition:
		next, resumed := m.of.State().Position()
		return ended(encodePosition(next, resumed)), nil
	case opMoveTo:
		next, resumed, err := decodePosition(op.Data)
		if err != nil {
			return nil, err
		}
		return ended(nil), m.of.State().MoveTo(next, resumed)
	}
	return nil, fmt.Errorf("operation %d of a slice of members, which this version of evorl does not have", op.Kind)
}

// run does an operation.
func (m *memberSlice) run(ctx context.Context, op sliceOp) ([]byte, error) {
	end, err := m.begin(ctx, op)
	if err != nil {
		return nil, err
	}
	return end(ctx)
}

// measured is the result of an iteration.
func (m *memberSlice) measured(ctx context.Context, iteration int) ([]byte, error) {
	of, err := m.of.Metrics().Read(iteration)
	if err != nil {
		return nil, err
	}
	var data []byte
	for _, name := range m.names {
		for _, x := range of[name] {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
	}
	steps, err := m.steps(ctx)
	return append(data, steps...), err
}

// steps reads the environment steps, 8 bytes.
func (m *memberSlice) steps(ctx context.Context) ([]byte, error) {
	if of := m.of.State().Lookup(stepsTensor); of != nil {
		return of.ReadBytes(ctx)
	}
	return make([]byte, 8), nil
}

// part returns the view of elements of a tensor.
func (m *memberSlice) part(name string, at, n int) (*engine.Tensor, error) {
	all := m.of.State().Moving()
	i := slices.IndexFunc(all, func(t *engine.Tensor) bool { return t.Name() == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no tensor %q", name)
	}
	if t := all[i]; at < 0 || n < 1 || at > t.Len()-n {
		return nil, fmt.Errorf("%d elements from %d on of tensor %v: want a part of it", n, at, t)
	}
	return all[i].Slice(at, engine.Axis("element", n)), nil
}

// prepareFitness makes what evaluates the members by the given number of episodes.
func (m *memberSlice) prepareFitness(ctx context.Context, episodes int) (err error) {
	m.episodes = episodes
	if m.evaluate, err = m.of.Fitness(ctx, m.of.State().Sub(fitnessScope), episodes); err != nil {
		return err
	}
	return m.of.State().Allocate()
}

const fitnessScope = "fitness"

// recordFitness records the evaluation, with the given number of results of a member, once.
func (m *memberSlice) recordFitness(results int) (err error) {
	switch {
	case m.evaluate == nil || results < 1:
		return errors.New("the fitness of members is not prepared")
	case m.fitness != nil:
		if results != m.results.Len()/m.members {
			return fmt.Errorf("%d results of fitness for a member, after %d", results, m.results.Len()/m.members)
		}
		return nil
	}
	state := m.of.State()
	m.results = state.Sub(fitnessScope).Scratch("results", engine.Float32, engine.Members(m.members), engine.Axis("result", results))
	m.fitness, err = state.Engine().Record("fitness of a slice", func(r *engine.Recorder) { m.evaluate(r, m.results) })
	return err
}

// renew records what begins anew where policies were taken over, once.
func (m *memberSlice) renew() (err error) {
	if m.renewed != nil {
		return nil
	}
	of, ok := m.of.(engine.PolicyInheritor)
	if !ok {
		return fmt.Errorf("hybrid: policies of %s are not copied alone", m.of.Describe().Workflow)
	}
	state := m.of.State()
	m.copied = state.Sub("policies").Scratch("copied", engine.Uint32, engine.Members(m.members))
	m.renewed, err = state.Engine().Record("copied policies of a slice", func(r *engine.Recorder) { of.RenewPolicy(r, m.copied) })
	return err
}

// open makes the workflow of a slice.
func (m *memberSlice) open(ctx context.Context, eng *engine.Engine, build BuildSlice) error {
	of, err := build(ctx, eng, m.members)
	if err != nil {
		return err
	}
	if n := of.Describe().Members; n != m.members {
		return errors.Join(fmt.Errorf("a workflow of %d members; want %d", n, m.members), of.Close())
	}
	m.of, m.names = of, of.Metrics().Names()
	return nil
}

// close frees the workflow. There may be none.
func (m *memberSlice) close() error {
	if m.of == nil {
		return nil
	}
	m.fitness.Free()
	m.renewed.Free()
	err := m.of.Close()
	m.of, m.evaluate, m.fitness, m.results, m.renewed, m.copied = nil, nil, nil, nil, nil, nil
	return err
}

// failed is the error of a slice; nil if there is none.
func (m *memberSlice) failed(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("members from %d on: %w", m.first, err)
	if m.where == "" {
		return err
	}
	return fmt.Errorf("%s, %w", m.where, err)
}

func encodePosition(next int, resumed bool) []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(next))
	if resumed {
		return append(data, 1)
	}
	return append(data, 0)
}

func decodePosition(data []byte) (next int, resumed bool, err error) {
	if len(data) != 9 {
		return 0, false, fmt.Errorf("the position of a state in %d bytes; want 9", len(data))
	}
	return int(binary.LittleEndian.Uint64(data)), data[8] != 0, nil
}

func encodeGob(of any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(of)
	return b.Bytes(), err
}

func decodeGob(data []byte, of any) error {
	return gob.NewDecoder(bytes.NewReader(data)).Decode(of)
}

// decodeFloats decodes elements.
func decodeFloats(data []byte) []float32 {
	all := make([]float32, len(data)/4)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return all
}
