package evorl

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/evorl/evorl/internal/records"
	"google.golang.org/protobuf/encoding/protowire"
)

// array is a tensor of an interpreted graph, row-major.
type array struct {
	shape []int
	v     []float64
}

// message is a protocol-buffer message: the values of each field in order, integers or bytes.
type message map[protowire.Number][]any

func parse(t *testing.T, b []byte) message {
	t.Helper()
	m := message{}
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		var v any
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			v, n = protowire.ConsumeFixed32(b)
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d has wire type %d", field, kind)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		m[field], b = append(m[field], v), b[n:]
	}
	return m
}

func (m message) text(field protowire.Number) string { return string(m[field][0].([]byte)) }

func (m message) texts(field protowire.Number) (out []string) {
	for _, v := range m[field] {
		out = append(out, string(v.([]byte)))
	}
	return out
}

// interpret computes the outputs of a model's graph in float64, written from the specification of ONNX's operators.
func interpret(t *testing.T, model []byte, inputs ...[][]float32) map[string]array {
	t.Helper()
	graph := parse(t, parse(t, model)[7][0].([]byte))
	values := map[string]array{}
	for i, b := range graph[11] {
		input := array{shape: []int{len(inputs[i]), len(inputs[i][0])}}
		for _, row := range inputs[i] {
			input.v = append(input.v, records.Widen(row)...)
		}
		values[parse(t, b.([]byte)).text(1)] = input
	}
	for _, b := range graph[5] {
		name, a := constant(parse(t, b.([]byte)))
		if _, twice := values[name]; twice {
			t.Fatalf("two values are called %q", name)
		}
		values[name] = a
	}
	for _, b := range graph[1] {
		n := parse(t, b.([]byte))
		var in []array
		for _, name := range n.texts(1) {
			a, ok := values[name]
			if !ok {
				t.Fatalf("%s uses %q before it is made", n.text(4), name)
			}
			in = append(in, a)
		}
		attributes := map[string]message{}
		for _, a := range n[5] {
			of := parse(t, a.([]byte))
			attributes[of.text(1)] = of
		}
		name := n.text(2)
		if _, twice := values[name]; twice {
			t.Fatalf("two values are called %q", name)
		}
		values[name] = operate(t, n.text(4), in, attributes)
	}
	out := map[string]array{}
	for _, b := range graph[12] {
		name := parse(t, b.([]byte)).text(1)
		if out[name] = values[name]; out[name].v == nil {
			t.Fatalf("there is no output %q", name)
		}
	}
	return out
}

func constant(of message) (string, array) {
	var a array
	for _, n := range of[1] {
		a.shape = append(a.shape, int(n.(uint64)))
	}
	data := of[9][0].([]byte)
	if of[2][0].(uint64) == 7 {
		for i := 0; i < len(data); i += 8 {
			a.v = append(a.v, float64(int64(binary.LittleEndian.Uint64(data[i:]))))
		}
		return of.text(8), a
	}
	for i := 0; i < len(data); i += 4 {
		a.v = append(a.v, float64(math.Float32frombits(binary.LittleEndian.Uint32(data[i:]))))
	}
	return of.text(8), a
}

// elementwise holds the operators of one operand.
var elementwise = map[string]func(float64) float64{
	"Identity": func(x float64) float64 { return x },
	"Cast":     func(x float64) float64 { return x },
	"Relu":     func(x float64) float64 { return max(x, 0) },
	"Tanh":     math.Tanh,
	"Sigmoid":  func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"Elu": func(x float64) float64 {
		if x < 0 {
			return math.Expm1(x)
		}
		return x
	},
}

// pairwise holds the operators of two operands, which are broadcast.
var pairwise = map[string]func(a, b float64) float64{
	"Add": func(a, b float64) float64 { return a + b },
	"Sub": func(a, b float64) float64 { return a - b },
	"Mul": func(a, b float64) float64 { return a * b },
	"Equal": func(a, b float64) float64 {
		if a == b {
			return 1
		}
		return 0
	},
}

func operate(t *testing.T, op string, in []array, attributes map[string]message) array {
	t.Helper()
	if f := elementwise[op]; f != nil {
		return each(in[0], func(_ int, x float64) float64 { return f(x) })
	}
	if f := pairwise[op]; f != nil {
		return broadcast(t, in[0], in[1], f)
	}
	switch op {
	case "Clip":
		return each(in[0], func(_ int, x float64) float64 { return min(max(x, in[1].v[0]), in[2].v[0]) })
	case "Gemm":
		in = append(in, array{v: make([]float64, in[1].shape[0])}) // without a bias
		return gemm(t, in[0], in[1], in[2], attributes["transB"][3][0].(uint64) == 1)
	case "Concat":
		width := in[0].shape[1] + in[1].shape[1]
		out := array{shape: []int{in[0].shape[0], width}}
		for r := range in[0].shape[0] {
			out.v = append(append(out.v, in[0].row(r)...), in[1].row(r)...)
		}
		return out
	case "Conv":
		return convolved(t, in[0], in[1], in[2], integers(attributes["strides"]), integers(attributes["pads"]), integers(attributes["kernel_shape"]))
	case "MaxPool", "AveragePool":
		strides, pads, kernel := integers(attributes["strides"]), integers(attributes["pads"]), integers(attributes["kernel_shape"])
		return pooled(in[0], strides, pads, kernel, op == "MaxPool")
	case "Transpose":
		return transposed(in[0], integers(attributes["perm"]))
	case "LayerNormalization":
		epsilon := float64(math.Float32frombits(attributes["epsilon"][2][0].(uint32)))
		return rows(in[0], true, func(x []float64) []float64 { return normalized(x, in[1].v, in[2].v, epsilon) })
	case "Softmax":
		return rows(in[0], true, softmax)
	case "ArgMax":
		return rows(in[0], false, func(x []float64) []float64 { return []float64{float64(records.Largest(x))} })
	case "ReduceSum":
		return rows(in[0], false, func(x []float64) []float64 { return []float64{sum(x)} })
	case "ReduceMean": // over axis 1, which is kept
		return axis1(in[0], 1, func(x []float64) []float64 { return []float64{sum(x) / float64(len(x))} })
	case "Slice": // along axis 1
		if !slices.Equal(in[3].v, []float64{1}) {
			t.Fatalf("Slice along axes %v", in[3].v)
		}
		from, to := int(in[1].v[0]), int(in[2].v[0])
		return axis1(in[0], to-from, func(x []float64) []float64 { return x[from:to] })
	case "Reshape":
		shape := []int{in[0].shape[0]}
		for _, n := range in[1].v[1:] {
			shape = append(shape, int(n))
		}
		if in[1].v[0] != 0 || size(shape) != len(in[0].v) {
			t.Fatalf("Reshape of %v to %v", in[0].shape, in[1].v)
		}
		return array{shape, in[0].v}
	}
	t.Fatalf("operator %q", op)
	return array{}
}

// integers returns the values of an attribute that is a list of whole numbers.
func integers(of message) (out []int) {
	for _, v := range of[8] {
		out = append(out, int(v.(uint64)))
	}
	return out
}

// transposed permutes the axes: axis i of the result is axis perm[i] of a.
func transposed(a array, perm []int) array {
	out := array{v: make([]float64, len(a.v))}
	for _, axis := range perm {
		out.shape = append(out.shape, a.shape[axis])
	}
	for i := range out.v {
		index, rest := make([]int, len(perm)), i
		for d := len(perm) - 1; d >= 0; d-- {
			index[perm[d]], rest = rest%out.shape[d], rest/out.shape[d]
		}
		at := 0
		for d, n := range a.shape {
			at = at*n + index[d]
		}
		out.v[i] = a.v[at]
	}
	return out
}

// convolved is a convolution of x [N, C, H, W] with w [O, C, kernel, kernel].
func convolved(t *testing.T, x, w, bias array, strides, pads, kernel []int) array {
	t.Helper()
	if len(pads) != 4 || len(strides) != 2 || len(x.shape) != 4 || !slices.Equal(w.shape[1:], append([]int{x.shape[1]}, kernel...)) {
		t.Fatalf("Conv of %v and %v with kernel %v, strides %v and pads %v", x.shape, w.shape, kernel, strides, pads)
	}
	out := array{shape: []int{x.shape[0], w.shape[0]}}
	for d := range 2 {
		out.shape = append(out.shape, (x.shape[2+d]+pads[d]+pads[2+d]-kernel[d])/strides[d]+1)
	}
	for i := range size(out.shape) {
		column, row := i%out.shape[3], i/out.shape[3]%out.shape[2]
		o, n := i/(out.shape[3]*out.shape[2])%out.shape[1], i/(out.shape[3]*out.shape[2]*out.shape[1])
		sum := bias.v[o]
		for k, v := range w.v[o*size(w.shape[1:]):][:size(w.shape[1:])] {
			c, ky, kx := k/(kernel[0]*kernel[1]), k/kernel[1]%kernel[0], k%kernel[1]
			y, x0 := row*strides[0]+ky-pads[0], column*strides[1]+kx-pads[1]
			if y >= 0 && y < x.shape[2] && x0 >= 0 && x0 < x.shape[3] {
				sum += v * x.v[((n*x.shape[1]+c)*x.shape[2]+y)*x.shape[3]+x0]
			}
		}
		out.v = append(out.v, sum)
	}
	return out
}

// pooled is the largest, or the mean, of each channel of x [N, C, H, W] under a window; pads do not count.
func pooled(x array, strides, pads, kernel []int, largest bool) array {
	out := array{shape: slices.Clone(x.shape[:2])}
	for d := range 2 {
		out.shape = append(out.shape, (x.shape[2+d]+pads[d]+pads[2+d]-kernel[d])/strides[d]+1)
	}
	for i := range size(out.shape) {
		column, row, image := i%out.shape[3], i/out.shape[3]%out.shape[2], i/(out.shape[3]*out.shape[2])
		var under []float64
		for k := range kernel[0] * kernel[1] {
			y, x0 := row*strides[0]+k/kernel[1]-pads[0], column*strides[1]+k%kernel[1]-pads[1]
			if y >= 0 && y < x.shape[2] && x0 >= 0 && x0 < x.shape[3] {
				under = append(under, x.v[(image*x.shape[2]+y)*x.shape[3]+x0])
			}
		}
		if largest {
			out.v = append(out.v, slices.Max(under))
		} else {
			out.v = append(out.v, sum(under)/float64(len(under)))
		}
	}
	return out
}

func each(a array, f func(i int, x float64) float64) array {
	out := array{a.shape, make([]float64, len(a.v))}
	for i, x := range a.v {
		out.v[i] = f(i, x)
	}
	return out
}

// broadcast aligns the operands' last dimensions.
func broadcast(t *testing.T, a, b array, f func(a, b float64) float64) array {
	t.Helper()
	ones := func(of array, n int) []int { return append(slices.Repeat([]int{1}, n-len(of.shape)), of.shape...) }
	n := max(len(a.shape), len(b.shape))
	as, bs := ones(a, n), ones(b, n)
	var shape []int
	for i := range n {
		if as[i] != bs[i] && as[i] != 1 && bs[i] != 1 {
			t.Fatalf("shapes %v and %v", a.shape, b.shape)
		}
		shape = append(shape, max(as[i], bs[i]))
	}
	out := array{shape, make([]float64, size(shape))}
	for i := range out.v {
		rest, ai, bi, an, bn := i, 0, 0, 1, 1
		for d := n - 1; d >= 0; d-- {
			at := rest % shape[d]
			rest /= shape[d]
			ai, bi = ai+at%as[d]*an, bi+at%bs[d]*bn
			an, bn = an*as[d], bn*bs[d]
		}
		out.v[i] = f(a.v[ai], b.v[bi])
	}
	return out
}

// gemm returns x · w or x · wᵀ, plus a bias.
func gemm(t *testing.T, x, w, bias array, transposed bool) array {
	t.Helper()
	in, width := w.shape[0], w.shape[1]
	if transposed {
		in, width = width, in
	}
	if x.shape[1] != in || len(bias.v) != width {
		t.Fatalf("Gemm of %v, %v and %v", x.shape, w.shape, bias.shape)
	}
	out := array{shape: []int{x.shape[0], width}}
	for r := range x.shape[0] {
		for o := range width {
			sum := bias.v[o]
			for i := range in {
				at := i*width + o
				if transposed {
					at = o*in + i
				}
				sum += x.v[r*in+i] * w.v[at]
			}
			out.v = append(out.v, sum)
		}
	}
	return out
}

// rows applies f along the last axis, which is kept or removed.
func rows(a array, keep bool, f func([]float64) []float64) array {
	n := a.shape[len(a.shape)-1]
	out := array{shape: a.shape}
	if !keep {
		out.shape = a.shape[:len(a.shape)-1]
	}
	for i := 0; i < len(a.v); i += n {
		out.v = append(out.v, f(a.v[i:i+n])...)
	}
	return out
}

// axis1 applies f, whose results have n values, along the axis after the batch axis.
func axis1(a array, n int, f func([]float64) []float64) array {
	inner := size(a.shape[2:])
	out := array{shape: append([]int{a.shape[0], n}, a.shape[2:]...)}
	out.v = make([]float64, size(out.shape))
	for b := range a.shape[0] {
		for i := range inner {
			var x []float64
			for k := range a.shape[1] {
				x = append(x, a.v[(b*a.shape[1]+k)*inner+i])
			}
			for k, y := range f(x) {
				out.v[(b*n+k)*inner+i] = y
			}
		}
	}
	return out
}

func normalized(x, scale, shift []float64, epsilon float64) []float64 {
	mean, square := sum(x)/float64(len(x)), 0.0
	for _, v := range x {
		square += (v - mean) * (v - mean)
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = (v-mean)/math.Sqrt(square/float64(len(x))+epsilon)*scale[i] + shift[i]
	}
	return out
}

func softmax(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Exp(v - slices.Max(x))
	}
	total := sum(out)
	for i := range out {
		out[i] /= total
	}
	return out
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func (a array) String() string { return fmt.Sprint(a.shape, a.v) }
