// Package symbolic builds straight-line float programs as graphs of expressions. It folds zeros and ones and shares
// common subexpressions while building, so that code written for the general case is as efficient as code for the
// special one.
package symbolic

import "math"

type op uint8

const (
	opConst op = iota
	opNamed    // a named constant
	opVar
	opAdd
	opSub
	opMul
	opDiv
	opNeg
	opSqrt
	opSin
	opCos
	opAbs
	opMin
	opMax
	opLess   // bool
	opAnd    // bool
	opOr     // bool
	opXor    // bool
	opSelect // bool ? float : float
)

// Graph holds expressions, each distinct one once.
type Graph struct {
	nodes []node
	index map[key]int32
	names map[int32]string
}

// key identifies a node.
type key struct {
	op      op
	a, b, c int32
	value   float64
	name    string
	block   *Block // nil: constant
}

type node struct{ key }

// Expr is an expression of a graph. The zero Expr means none.
type Expr struct {
	g  *Graph
	id int32
}

// Block is a scope of the program. A variable belongs to a block, an expression to the innermost block of its
// variables.
type Block struct {
	parent *Block
	depth  int
}

// NewGraph makes an empty graph.
func NewGraph() *Graph { return &Graph{index: map[key]int32{}, names: map[int32]string{}} }

// NewBlock makes a scope in parent; nil: an outermost one.
func NewBlock(parent *Block) *Block {
	b := &Block{parent: parent}
	if parent != nil {
		b.depth = parent.depth + 1
	}
	return b
}

func (b *Block) within(outer *Block) bool {
	for ; b != nil; b = b.parent {
		if b == outer {
			return true
		}
	}
	return outer == nil
}

func (g *Graph) add(k key, block *Block) Expr {
	k.block = block
	if id, ok := g.index[k]; ok {
		return Expr{g, id}
	}
	id := int32(len(g.nodes))
	g.nodes = append(g.nodes, node{k})
	g.index[k] = id
	return Expr{g, id}
}

// Const returns a number.
func (g *Graph) Const(v float64) Expr {
	if v == 0 {
		v = 0 // no negative zero
	}
	return g.add(key{op: opConst, value: v}, nil)
}

// Named returns a constant with a name in the program, unless it is 0, 1 or -1.
func (g *Graph) Named(name string, v float64) Expr {
	if v == 0 || v == 1 || v == -1 {
		return g.Const(v)
	}
	return g.add(key{op: opNamed, value: v, name: name}, nil)
}

// Var returns an input of the program, written as name. Its value is known in a block.
func (g *Graph) Var(block *Block, name string) Expr {
	return g.add(key{op: opVar, name: name}, block)
}

func (e Expr) node() *node { return &e.g.nodes[e.id] }

// constant returns e's number if e is a constant without a name.
func (e Expr) constant() (float64, bool) {
	n := e.node()
	return n.value, n.op == opConst
}

func (e Expr) is(v float64) bool {
	c, ok := e.constant()
	return ok && c == v
}

// IsZero reports whether e is known to be zero.
func (e Expr) IsZero() bool { return e.is(0) }

// Value returns e's number if e is a constant, named or not.
func (e Expr) Value() (float64, bool) {
	n := e.node()
	return n.value, n.op == opConst || n.op == opNamed
}

// As names an expression, for readability; the first name given stays.
func (e Expr) As(name string) Expr {
	if _, named := e.g.names[e.id]; !named && e.node().op > opVar {
		e.g.names[e.id] = name
	}
	return e
}

// make adds a node with its block, the innermost of the operands'.
func (g *Graph) make(o op, operands ...Expr) Expr {
	k := key{op: o, a: -1, b: -1, c: -1}
	var block *Block
	for i, e := range operands {
		switch i {
		case 0:
			k.a = e.id
		case 1:
			k.b = e.id
		case 2:
			k.c = e.id
		}
		if at := g.nodes[e.id].block; at != nil && (block == nil || at.depth > block.depth) {
			block = at
		}
	}
	for _, e := range operands {
		if at := g.nodes[e.id].block; !block.within(at) {
			panic("symbolic: operands of blocks that are not within each other") // a bug of the generator, not of its input
		}
	}
	return g.add(k, block)
}

func (e Expr) operand(id int32) Expr { return Expr{e.g, id} }

// Add is e + f.
func (e Expr) Add(f Expr) Expr {
	a, aConst := e.constant()
	b, bConst := f.constant()
	switch {
	case aConst && bConst:
		return e.g.Const(a + b)
	case e.is(0):
		return f
	case f.is(0):
		return e
	case e.node().op == opNeg && f.node().op == opNeg:
		return e.operand(e.node().a).Add(f.operand(f.node().a)).Neg()
	case f.node().op == opNeg:
		return e.Sub(f.operand(f.node().a))
	case e.node().op == opNeg:
		return f.Sub(e.operand(e.node().a))
	}
	if e.id > f.id {
		e, f = f, e
	}
	return e.g.make(opAdd, e, f)
}

// Sub is e - f.
func (e Expr) Sub(f Expr) Expr {
	a, aConst := e.constant()
	b, bConst := f.constant()
	switch {
	case e == f:
		return e.g.Const(0)
	case aConst && bConst:
		return e.g.Const(a - b)
	case f.is(0):
		return e
	case e.is(0):
		return f.Neg()
	case f.node().op == opNeg:
		return e.Add(f.operand(f.node().a))
	case e.node().op == opNeg:
		return e.operand(e.node().a).Add(f).Neg()
	}
	// (e + f) - e: computed literally, f would be lost to rounding.
	if n := f.node(); n.op == opAdd && n.a == e.id {
		return e.operand(n.b).Neg()
	} else if n.op == opAdd && n.b == e.id {
		return e.operand(n.a).Neg()
	}
	if n := e.node(); (n.op == opAdd || n.op == opSub) && n.a == f.id {
		if n.op == opSub {
			return e.operand(n.b).Neg()
		}
		return e.operand(n.b)
	} else if n.op == opAdd && n.b == f.id {
		return e.operand(n.a)
	}
	return e.g.make(opSub, e, f)
}

// Neg is -e.
func (e Expr) Neg() Expr {
	n := e.node()
	switch n.op {
	case opConst:
		return e.g.Const(-n.value)
	case opNeg:
		return e.operand(n.a)
	case opSub:
		return e.g.make(opSub, e.operand(n.b), e.operand(n.a))
	}
	return e.g.make(opNeg, e)
}

// Mul is e · f.
func (e Expr) Mul(f Expr) Expr {
	a, aConst := e.constant()
	b, bConst := f.constant()
	switch {
	case aConst && bConst:
		return e.g.Const(a * b)
	case e.is(0) || f.is(0):
		return e.g.Const(0)
	case e.is(1):
		return f
	case f.is(1):
		return e
	case aConst && a < 0:
		return e.Neg().Mul(f).Neg()
	case bConst && b < 0:
		return e.Mul(f.Neg()).Neg()
	case e.node().op == opNeg:
		return e.operand(e.node().a).Mul(f).Neg()
	case f.node().op == opNeg:
		return e.Mul(f.operand(f.node().a)).Neg()
	}
	if bConst {
		e, f, aConst, a = f, e, true, b
	}
	if aConst && f.node().op == opMul { // c (d x) = (c d) x
		if d, ok := f.operand(f.node().a).constant(); ok {
			return e.g.Const(a * d).Mul(f.operand(f.node().b))
		}
	}
	if !aConst && e.id > f.id {
		e, f = f, e
	}
	return e.g.make(opMul, e, f)
}

// Div is e / f.
func (e Expr) Div(f Expr) Expr {
	b, bConst := f.constant()
	switch {
	case bConst && b != 0:
		return e.Mul(e.g.Const(1 / b))
	case e.is(0):
		return e
	case e.node().op == opNeg:
		return e.operand(e.node().a).Div(f).Neg()
	}
	return e.g.make(opDiv, e, f)
}

// Scale is c · e.
func (e Expr) Scale(c float64) Expr { return e.g.Const(c).Mul(e) }

// Square is e².
func (e Expr) Square() Expr { return e.Mul(e) }

func (e Expr) unary(o op, f func(float64) float64) Expr {
	if c, ok := e.constant(); ok {
		return e.g.Const(f(c))
	}
	return e.g.make(o, e)
}

func (e Expr) Sqrt() Expr { return e.unary(opSqrt, math.Sqrt) }
func (e Expr) Sin() Expr  { return e.unary(opSin, math.Sin) }
func (e Expr) Cos() Expr  { return e.unary(opCos, math.Cos) }
func (e Expr) Abs() Expr  { return e.unary(opAbs, math.Abs) }

func (e Expr) binary(o op, f Expr, apply func(a, b float64) float64) Expr {
	a, aConst := e.constant()
	b, bConst := f.constant()
	if aConst && bConst {
		return e.g.Const(apply(a, b))
	}
	return e.g.make(o, e, f)
}

func (e Expr) Min(f Expr) Expr { return e.binary(opMin, f, math.Min) }
func (e Expr) Max(f Expr) Expr { return e.binary(opMax, f, math.Max) }

// Clamp clamps e to low and high.
func (e Expr) Clamp(low, high Expr) Expr { return e.Max(low).Min(high) }

// Less is the condition e < f.
func (e Expr) Less(f Expr) Expr { return e.g.make(opLess, e, f) }

// And, Or and Xor combine conditions.
func (e Expr) And(f Expr) Expr { return e.g.make(opAnd, e, f) }
func (e Expr) Or(f Expr) Expr {
	if e == f {
		return e
	}
	return e.g.make(opOr, e, f)
}
func (e Expr) Xor(f Expr) Expr { return e.g.make(opXor, e, f) }

// Select is e ? yes : no, for a condition e.
func (e Expr) Select(yes, no Expr) Expr {
	if yes == no {
		return yes
	}
	return e.g.make(opSelect, e, yes, no)
}
