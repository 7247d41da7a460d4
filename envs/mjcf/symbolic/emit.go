package symbolic

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Emitter writes a graph's expressions as GLSL, block by block: each value once, in the outermost block in which it
// is known.
type Emitter struct {
	g      *Graph
	uses   []int  // by expressions and roots
	needed []bool // by some root
	apart  []bool // used in an inner block, so that it must have a name
	text   []string
	taken  map[string]bool
	serial int
}

// longest is the maximum length of an expression without a name.
const longest = 90

// NewEmitter prepares to write a program. roots are all expressions that the text around the blocks will request by
// Ref.
func (g *Graph) NewEmitter(roots map[*Block][]Expr) *Emitter {
	n := len(g.nodes)
	em := &Emitter{g: g, uses: make([]int, n), needed: make([]bool, n), apart: make([]bool, n), text: make([]string, n), taken: map[string]bool{}}
	for block, list := range roots {
		for _, e := range list {
			em.needed[e.id] = true
			em.uses[e.id] += 1
			em.apart[e.id] = em.apart[e.id] || g.nodes[e.id].block != block
		}
	}
	for id := n - 1; id >= 0; id-- {
		if !em.needed[id] {
			continue
		}
		at := &g.nodes[id]
		if at.op == opVar || at.op == opNamed {
			em.taken[at.name] = true
		}
		for _, child := range at.operands() {
			em.needed[child] = true
			em.uses[child]++
			em.apart[child] = em.apart[child] || g.nodes[child].block != at.block
		}
	}
	return em
}

// NewEmitterWith prepares to write a part of a program; its constants are written by another emitter, whose roots
// must include this one's.
func (g *Graph) NewEmitterWith(roots map[*Block][]Expr, constants *Emitter) *Emitter {
	em := g.NewEmitter(roots)
	for id := range g.nodes {
		if g.nodes[id].block == nil {
			em.text[id] = constants.text[id]
			if g.nodes[id].op > opVar {
				em.taken[constants.text[id]] = true
			}
		}
	}
	return em
}

func (n *node) operands() []int32 {
	if n.op <= opVar {
		return nil
	}
	out := []int32{n.a}
	if n.b >= 0 {
		out = append(out, n.b)
	}
	if n.c >= 0 {
		out = append(out, n.c)
	}
	return out
}

// Constants returns the named constants: `const float NAME = value;` each.
func (em *Emitter) Constants() string {
	var s strings.Builder
	for id := range em.g.nodes {
		n := &em.g.nodes[id]
		if em.needed[id] && n.op == opNamed {
			fmt.Fprintf(&s, "const float %s = %s;\n", n.name, Literal(n.value))
		}
	}
	s.WriteString(em.Block(nil, ""))
	return s.String()
}

// Block returns the values of a block, indented. Blocks are written from the outside in.
func (em *Emitter) Block(block *Block, indent string) string {
	var s strings.Builder
	for id := range em.g.nodes {
		n := &em.g.nodes[id]
		if n.block != block || !em.needed[id] {
			continue
		}
		text := em.expression(n)
		if n.op <= opVar || n.op == opNeg && em.g.nodes[n.a].op <= opVar {
			em.text[id] = text
			continue
		}
		if em.uses[id] == 1 && !em.apart[id] && len(text) < longest {
			if em.g.nodes[id].op != opNeg && !isCall(n.op) {
				text = "(" + text + ")"
			}
			em.text[id] = text
			continue
		}
		kind := "float"
		if n.op >= opLess && n.op <= opXor {
			kind = "bool"
		}
		if block == nil {
			kind = "const " + kind
		}
		name := em.name(int32(id), block == nil)
		fmt.Fprintf(&s, "%s%s %s = %s;\n", indent, kind, name, strip(text))
		em.text[id] = name
	}
	return s.String()
}

// Ref returns the text of a value, after the block it is a root of has been written.
func (em *Emitter) Ref(e Expr) string { return strip(em.text[e.id]) }

// Needs reports whether some root depends on e.
func (em *Emitter) Needs(e Expr) bool { return int(e.id) < len(em.needed) && em.needed[e.id] }

func (em *Emitter) name(id int32, constant bool) string {
	name, ok := em.g.names[id]
	if !ok {
		em.serial++
		if constant {
			return fmt.Sprintf("C%d", em.serial)
		}
		return fmt.Sprintf("t%d", em.serial)
	}
	if constant {
		name = strings.ToUpper(name)
	}
	unique := name
	for i := 2; em.taken[unique]; i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	em.taken[unique] = true
	return unique
}

func isCall(o op) bool {
	switch o {
	case opSqrt, opSin, opCos, opAbs, opMin, opMax, opConst, opNamed, opVar:
		return true
	}
	return false
}

var infix = map[op]string{opAdd: "+", opSub: "-", opMul: "*", opDiv: "/", opLess: "<", opAnd: "&&", opOr: "||", opXor: "!="}
var calls = map[op]string{opSqrt: "sqrt", opSin: "m_sin", opCos: "m_cos", opAbs: "abs", opMin: "min", opMax: "max"}

func (em *Emitter) expression(n *node) string {
	a, b, c := "", "", ""
	for i, id := range n.operands() {
		switch i {
		case 0:
			a = em.text[id]
		case 1:
			b = em.text[id]
		case 2:
			c = em.text[id]
		}
	}
	switch n.op {
	case opConst:
		if n.value < 0 {
			return "(" + Literal(n.value) + ")"
		}
		return Literal(n.value)
	case opNamed, opVar:
		return n.name
	case opNeg:
		return "(-" + a + ")"
	case opSelect:
		return strip(a) + " ? " + b + " : " + c
	case opAdd: // sums and products need no inner parentheses on their left
		return stripIf(a, em.g.nodes[n.a].op, opAdd, opSub, opMul, opDiv) + " + " + stripIf(b, em.g.nodes[n.b].op, opMul, opDiv)
	case opSub:
		return stripIf(a, em.g.nodes[n.a].op, opAdd, opSub, opMul, opDiv) + " - " + stripIf(b, em.g.nodes[n.b].op, opMul, opDiv)
	case opMul:
		return stripIf(a, em.g.nodes[n.a].op, opMul) + " * " + b
	}
	if sign, ok := infix[n.op]; ok {
		return a + " " + sign + " " + b
	}
	if b != "" {
		return calls[n.op] + "(" + strip(a) + ", " + strip(b) + ")"
	}
	return calls[n.op] + "(" + strip(a) + ")"
}

func stripIf(text string, o op, ops ...op) string {
	for _, other := range ops {
		if o == other {
			return strip(text)
		}
	}
	return text
}

// strip removes the outermost parentheses.
func strip(text string) string {
	if !strings.HasPrefix(text, "(") || !strings.HasSuffix(text, ")") {
		return text
	}
	depth := 0
	for i, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 && i < len(text)-1 {
			return text
		}
	}
	return text[1 : len(text)-1]
}

// Literal returns the shortest GLSL literal of a float32.
func Literal(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) || math.Abs(v) > math.MaxFloat32 {
		panic(fmt.Sprintf("symbolic: the constant %g has no literal", v)) // a bug of the generator
	}
	text := strconv.FormatFloat(v, 'g', -1, 32)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}
