package symbolic

import (
	"fmt"
	"math"
)

// Evaluation computes expressions from the values of variables, each once.
type Evaluation struct {
	g      *Graph
	vars   map[string]float64
	single bool
	known  []bool
	value  []float64
}

// Evaluate computes in float64, or with single rounds every result to float32 as a device does. Conditions are 0 or
// 1.
func (g *Graph) Evaluate(vars map[string]float64, single bool) *Evaluation {
	return &Evaluation{g, vars, single, make([]bool, len(g.nodes)), make([]float64, len(g.nodes))}
}

// Of returns the value of an expression. It panics if a variable has no value: a bug of the caller.
func (ev *Evaluation) Of(e Expr) float64 { return ev.at(e.id) }

func (ev *Evaluation) at(id int32) float64 {
	if id < 0 {
		return 0
	}
	if ev.known[id] {
		return ev.value[id]
	}
	n := &ev.g.nodes[id]
	a, b, c := 0.0, 0.0, 0.0
	if n.op > opVar {
		a, b, c = ev.at(n.a), ev.at(n.b), ev.at(n.c)
	}
	v := ev.apply(n, a, b, c)
	if ev.single {
		v = float64(float32(v))
	}
	ev.known[id], ev.value[id] = true, v
	return v
}

func (ev *Evaluation) apply(n *node, a, b, c float64) float64 {
	truth := func(t bool) float64 {
		if t {
			return 1
		}
		return 0
	}
	switch n.op {
	case opConst, opNamed:
		return n.value
	case opVar:
		v, ok := ev.vars[n.name]
		if !ok {
			panic(fmt.Sprintf("symbolic: no value for %s", n.name))
		}
		return v
	case opAdd:
		return a + b
	case opSub:
		return a - b
	case opMul:
		return a * b
	case opDiv:
		return a / b
	case opNeg:
		return -a
	case opSqrt:
		return math.Sqrt(a)
	case opSin:
		return math.Sin(a)
	case opCos:
		return math.Cos(a)
	case opAbs:
		return math.Abs(a)
	case opMin:
		return math.Min(a, b)
	case opMax:
		return math.Max(a, b)
	case opLess:
		return truth(a < b)
	case opAnd:
		return truth(a != 0 && b != 0)
	case opOr:
		return truth(a != 0 || b != 0)
	case opXor:
		return truth(a != b)
	}
	if a != 0 {
		return b
	}
	return c
}
