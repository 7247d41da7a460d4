package symbolic

// Vec is a vector of three expressions.
type Vec [3]Expr

// Mat is a matrix of three rows.
type Mat [3]Vec

// Vec returns a vector of numbers.
func (g *Graph) Vec(v [3]float64) Vec { return Vec{g.Const(v[0]), g.Const(v[1]), g.Const(v[2])} }

// Mat returns a matrix of numbers.
func (g *Graph) Mat(m [3][3]float64) Mat { return Mat{g.Vec(m[0]), g.Vec(m[1]), g.Vec(m[2])} }

func (v Vec) Add(w Vec) Vec    { return Vec{v[0].Add(w[0]), v[1].Add(w[1]), v[2].Add(w[2])} }
func (v Vec) Sub(w Vec) Vec    { return Vec{v[0].Sub(w[0]), v[1].Sub(w[1]), v[2].Sub(w[2])} }
func (v Vec) Neg() Vec         { return Vec{v[0].Neg(), v[1].Neg(), v[2].Neg()} }
func (v Vec) Mul(s Expr) Vec   { return Vec{v[0].Mul(s), v[1].Mul(s), v[2].Mul(s)} }
func (v Vec) Dot(w Vec) Expr   { return v[0].Mul(w[0]).Add(v[1].Mul(w[1])).Add(v[2].Mul(w[2])) }
func (v Vec) Norm() Expr       { return v.Dot(v).Sqrt() }
func (v Vec) As(n string) Vec  { return Vec{v[0].As(n + "_x"), v[1].As(n + "_y"), v[2].As(n + "_z")} }
func (m Mat) Apply(v Vec) Vec  { return Vec{m[0].Dot(v), m[1].Dot(v), m[2].Dot(v)} }
func (m Mat) Add(n Mat) Mat    { return Mat{m[0].Add(n[0]), m[1].Add(n[1]), m[2].Add(n[2])} }
func (m Mat) Column(i int) Vec { return Vec{m[0][i], m[1][i], m[2][i]} }
func (m Mat) As(n string) Mat {
	return Mat{m[0].As(n + "_x"), m[1].As(n + "_y"), m[2].As(n + "_z")}
}

// Cross is v × w.
func (v Vec) Cross(w Vec) Vec {
	return Vec{
		v[1].Mul(w[2]).Sub(v[2].Mul(w[1])),
		v[2].Mul(w[0]).Sub(v[0].Mul(w[2])),
		v[0].Mul(w[1]).Sub(v[1].Mul(w[0])),
	}
}

// IsZero reports whether all elements of v are known to be zero.
func (v Vec) IsZero() bool { return v[0].IsZero() && v[1].IsZero() && v[2].IsZero() }

// Transposed returns mᵀ.
func (m Mat) Transposed() Mat { return Mat{m.Column(0), m.Column(1), m.Column(2)} }

// Mul returns the matrix product.
func (m Mat) Mul(n Mat) Mat {
	t := n.Transposed()
	var out Mat
	for i := range 3 {
		for j := range 3 {
			out[i][j] = m[i].Dot(t[j])
		}
	}
	return out
}

// Unit returns the i-th axis.
func (g *Graph) Unit(i int) Vec {
	var v [3]float64
	v[i] = 1
	return g.Vec(v)
}
