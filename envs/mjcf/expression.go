package mjcf

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/envs/mjcf/symbolic"
)

// Expressions of a task are arithmetic over names, with Go's operators: + - * /, comparisons, && || !, and functions.
// They are checked here, so that a mistake is reported with its column, and become GLSL.

// kind is the type of an expression.
type kind uint8

const (
	scalar    kind = iota // a float
	condition             // a bool
)

func (k kind) String() string { return [...]string{"a number", "a condition"}[k] }

// functions lists the functions of expressions: their GLSL, with the same trigonometry on every device, and the
// number of their arguments.
var functions = map[string]struct {
	glsl      string
	arguments int
}{
	"abs": {"abs", 1}, "sqrt": {"sqrt", 1}, "sin": {"m_sin", 1}, "cos": {"m_cos", 1}, "exp": {"m_exp", 1}, "log": {"m_log", 1},
	"tanh": {"m_tanh", 1}, "square": {"task_square", 1}, "min": {"min", 2}, "max": {"max", 2}, "clamp": {"clamp", 3},
}

// translator turns expressions into GLSL. of returns the GLSL of a name.
type translator struct {
	text string
	of   func(name string) (glsl string, of kind, err error)
}

// translate returns the GLSL of an expression that must be of a kind.
func translate(text string, want kind, of func(string) (string, kind, error)) (string, error) {
	t := translator{text, of}
	parsed, err := parser.ParseExpr(text)
	var list scanner.ErrorList
	if err != nil {
		if errors.As(err, &list) && len(list) > 0 {
			return "", fmt.Errorf("%q, column %d: %s", text, list[0].Pos.Column, list[0].Msg)
		}
		return "", fmt.Errorf("%q: %w", text, err)
	}
	glsl, got, err := t.expr(parsed)
	if err == nil && got != want {
		err = t.errorf(parsed, "%v; want %v", got, want)
	}
	return glsl, err
}

func (t *translator) errorf(at ast.Node, format string, args ...any) error {
	return fmt.Errorf("%q, column %d: %s", t.text, at.Pos(), fmt.Sprintf(format, args...))
}

func (t *translator) expr(e ast.Expr) (string, kind, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return t.expr(e.X)
	case *ast.BasicLit:
		v, err := strconv.ParseFloat(e.Value, 64)
		if e.Kind != token.INT && e.Kind != token.FLOAT || err != nil || math.Abs(v) > math.MaxFloat32 {
			return "", 0, t.errorf(e, "%s is not a decimal number within ±3e38", e.Value)
		}
		return symbolic.Literal(v), scalar, nil
	case *ast.Ident:
		glsl, of, err := t.of(e.Name)
		if err != nil {
			return "", 0, t.errorf(e, "%v", err)
		}
		return glsl, of, nil
	case *ast.UnaryExpr:
		return t.unary(e)
	case *ast.BinaryExpr:
		return t.binary(e)
	case *ast.CallExpr:
		return t.call(e)
	}
	return "", 0, t.errorf(e, "want numbers, names, + - * /, comparisons, && || ! and functions")
}

func (t *translator) unary(e *ast.UnaryExpr) (string, kind, error) {
	of, ok := map[token.Token]kind{token.SUB: scalar, token.ADD: scalar, token.NOT: condition}[e.Op]
	if !ok {
		return "", 0, t.errorf(e, "no operator %v; want - or !", e.Op)
	}
	x, err := t.operand(e.X, of)
	return "(" + e.Op.String() + x + ")", of, err
}

// operand returns the GLSL of an expression of a kind.
func (t *translator) operand(e ast.Expr, want kind) (string, error) {
	x, got, err := t.expr(e)
	if err == nil && got != want {
		err = t.errorf(e, "%v; want %v", got, want)
	}
	return x, err
}

func (t *translator) binary(e *ast.BinaryExpr) (string, kind, error) {
	var operands, result kind
	switch e.Op {
	case token.ADD, token.SUB, token.MUL, token.QUO:
	case token.LSS, token.GTR, token.LEQ, token.GEQ:
		result = condition
	case token.LAND, token.LOR:
		operands, result = condition, condition
	default:
		return "", 0, t.errorf(e, "no operator %v; want + - * / < > <= >= && or || (and square(x) for a power)", e.Op)
	}
	x, err := t.operand(e.X, operands)
	if err != nil {
		return "", 0, err
	}
	y, err := t.operand(e.Y, operands)
	return "(" + x + " " + e.Op.String() + " " + y + ")", result, err
}

func (t *translator) call(e *ast.CallExpr) (string, kind, error) {
	name, ok := e.Fun.(*ast.Ident)
	if !ok {
		return "", 0, t.errorf(e, "want the name of a function before (")
	}
	if name.Name == "where" {
		return t.where(e)
	}
	f, ok := functions[name.Name]
	if !ok {
		return "", 0, t.errorf(e, "there is no function %q%s", name.Name, nearest(name.Name, slices.Sorted(functionNames)))
	}
	if len(e.Args) != f.arguments {
		return "", 0, t.errorf(e, "%s has %d arguments; want %d", name.Name, len(e.Args), f.arguments)
	}
	var args []string
	for _, a := range e.Args {
		x, err := t.operand(a, scalar)
		if err != nil {
			return "", 0, err
		}
		args = append(args, x)
	}
	return f.glsl + "(" + strings.Join(args, ", ") + ")", scalar, nil
}

// where translates where(condition, a, b): a if the condition holds, else b.
func (t *translator) where(e *ast.CallExpr) (string, kind, error) {
	if len(e.Args) != 3 {
		return "", 0, t.errorf(e, "where has %d arguments; want a condition and two numbers", len(e.Args))
	}
	parts := [3]string{}
	for i, want := range []kind{condition, scalar, scalar} {
		var err error
		if parts[i], err = t.operand(e.Args[i], want); err != nil {
			return "", 0, err
		}
	}
	return "(" + parts[0] + " ? " + parts[1] + " : " + parts[2] + ")", scalar, nil
}

func functionNames(yield func(string) bool) {
	for name := range functions {
		if !yield(name) {
			return
		}
	}
	yield("where")
}

// nearest names the valid name that a misspelt one most likely means, or all of them if they are few.
func nearest(name string, valid []string) string {
	if found := config.Nearest(name, valid); found != "" {
		return fmt.Sprintf("; did you mean %q?", found)
	}
	return "; want one of " + strings.Join(valid, ", ")
}
