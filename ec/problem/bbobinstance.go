package problem

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// instance is an instance of a BBOB function in float64, drawn as COCO does, by the benchmark's original generators.
type instance struct {
	optimum []float64 // x_opt
	a, b    *mat.Dense
	places  *mat.Dense // [peaks, dim]: A (x_opt − y), of Gallagher's peaks y
	scales  *mat.Dense // [peaks, dim]
	heights []float64
}

// schwefelPlace is 2 |x_opt| of Schwefel's function.
const schwefelPlace = 4.2096874637

// newInstance makes an instance of the functions 1 to 24.
func newInstance(function, dim, number int) *instance {
	like := function
	switch function {
	case 4:
		like = 3
	case 18:
		like = 17
	}
	seed := like + 10000*number
	of := &instance{optimum: usualOptimum(seed, dim)}
	first := func() *mat.Dense { return rotation(seed+1000000, dim) }
	second := func() *mat.Dense { return rotation(seed, dim) }
	// between returns R Λ Q, with the elements of Λ from 1 to the square root of the condition.
	between := func(condition float64) *mat.Dense { return product(first(), rows(second(), condition)) }
	switch function {
	case 4:
		for i := 0; i < dim; i += 2 {
			of.optimum[i] = math.Abs(of.optimum[i])
		}
	case 5:
		for i, v := range of.optimum {
			of.optimum[i] = math.Copysign(5, v)
		}
	case 6, 13:
		of.a = between(10)
	case 7:
		of.a, of.b = rows(second(), 10), first()
	case 8:
		for i := range of.optimum {
			of.optimum[i] *= 0.75
		}
	case 9, 19:
		of.a = second()
		scale := rosenbrockScale(dim)
		for j := range of.optimum { // the point where A x is 1/2
			of.optimum[j] = mat.Sum(of.a.ColView(j)) / (2 * scale)
		}
		of.a.Scale(scale, of.a)
	case 10, 11, 14:
		of.a = first()
	case 12:
		of.optimum = usualOptimum(seed+1000000, dim)
		of.a, of.b = first(), first()
	case 15:
		of.a, of.b = first(), between(10)
	case 16:
		of.a, of.b = first(), between(0.01)
	case 17:
		of.a, of.b = first(), rows(second(), 10)
	case 18:
		of.a, of.b = first(), rows(second(), 1000)
	case 20:
		for i, u := range uniforms(dim, seed) {
			of.optimum[i] = math.Copysign(schwefelPlace/2, u-0.5)
		}
	case 21:
		of.gallagher(seed, dim, 101, 10, math.Sqrt(1000))
	case 22:
		of.gallagher(seed, dim, 21, 9.8, 1000)
	case 23:
		of.a = between(100)
	case 24:
		of.a = between(100)
		for i, g := range gaussians(dim, seed) {
			of.optimum[i] = math.Copysign(1.25, g)
		}
	}
	return of
}

// gallagher places the peaks uniformly in a box of the given width; the first peak is the optimum, and condition is
// its condition number.
func (of *instance) gallagher(seed, dim, peaks int, width, condition float64) {
	of.a = rotation(seed, dim)
	conditions := []float64{condition}
	of.heights = []float64{10}
	for i, at := range order(uniforms(peaks-1, seed)) {
		conditions = append(conditions, math.Pow(1000, float64(at)/float64(peaks-2)))
		of.heights = append(of.heights, 1.1+8*float64(i)/float64(peaks-2))
	}
	of.places, of.scales = mat.NewDense(peaks, dim, nil), mat.NewDense(peaks, dim, nil)
	u := uniforms(peaks*dim, seed)
	for p := range peaks {
		for j, at := range order(uniforms(dim, seed+1000*p)) {
			of.scales.Set(p, j, math.Pow(conditions[p], float64(at)/float64(dim-1)-0.5))
		}
		offset := mat.NewVecDense(dim, nil)
		for j := range dim {
			y := width*u[p*dim+j] - width/2
			if p == 0 {
				y *= 0.8
				of.optimum[j] = y
			}
			offset.SetVec(j, of.optimum[j]-y)
		}
		var place mat.VecDense
		place.MulVec(of.a, offset)
		of.places.SetRow(p, place.RawVector().Data)
	}
}

// value returns f_opt of a function's instance.
func (of *instance) value(function, number int) float64 {
	switch {
	case function > 100:
		function, _ = noisyBase(function, 2)
	case function == 4:
		function = 3
	case function == 18:
		function = 17
	}
	seed := function + 10000*number
	ratio := gaussians(1, seed)[0] / gaussians(1, seed+1)[0]
	return min(1000, max(-1000, math.Floor(10000*ratio+0.5)/100))
}

// constants returns the constants that shaders/ec/problem/function.comp reads, for candidates relative to origin.
func (of *instance) constants(origin []float64, row int) []float32 {
	out := make([]float32, 3*row)
	for i, v := range of.optimum {
		v -= origin[i]
		out[i] = float32(v)
		out[row+i] = float32(v - float64(out[i]))
		out[2*row+i] = float32(origin[i])
	}
	for _, m := range []*mat.Dense{of.a, of.b, of.places, of.scales} {
		if m == nil {
			continue
		}
		n, _ := m.Dims()
		for i := range n {
			line := make([]float32, row)
			for j, v := range m.RawRowView(i) {
				line[j] = float32(v)
			}
			out = append(out, line...)
		}
	}
	heights := make([]float32, (len(of.heights)+3)/4*4)
	for i, v := range of.heights {
		heights[i] = float32(v)
	}
	return append(out, heights...)
}

// usualOptimum draws from [−4, 4], in steps of 0.0008.
func usualOptimum(seed, dim int) []float64 {
	x := uniforms(dim, seed)
	for i, u := range x {
		x[i] = 8*math.Floor(1e4*u)/1e4 - 4
		if x[i] == 0 {
			x[i] = -1e-5
		}
	}
	return x
}

// rotation draws an orthogonal matrix: normal numbers, column by column, orthonormalised by the Gram-Schmidt method.
func rotation(seed, dim int) *mat.Dense {
	g := gaussians(dim*dim, seed)
	columns := make([][]float64, dim)
	for i := range columns {
		column := g[i*dim:][:dim]
		for _, before := range columns[:i] {
			dot := 0.0
			for k, v := range before {
				dot += column[k] * v
			}
			for k, v := range before {
				column[k] -= dot * v
			}
		}
		square := 0.0
		for _, v := range column {
			square += v * v
		}
		for k := range column {
			column[k] /= math.Sqrt(square)
		}
		columns[i] = column
	}
	m := mat.NewDense(dim, dim, nil)
	for i, column := range columns {
		m.SetCol(i, column)
	}
	return m
}

// rows returns Λ M: the rows of m scaled by factors from 1 to the square root of the condition.
func rows(m *mat.Dense, condition float64) *mat.Dense {
	n, _ := m.Dims()
	for i := range n {
		row := m.RawRowView(i)
		for j := range row {
			row[j] *= math.Pow(math.Sqrt(condition), float64(i)/float64(n-1))
		}
	}
	return m
}

func product(a, b *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.Mul(a, b)
	return &out
}

// order returns the permutation that sorts values in ascending order.
func order(values []float64) []int {
	out := make([]int, len(values))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(i, j int) int {
		switch {
		case values[i] < values[j]:
			return -1
		case values[i] > values[j]:
			return 1
		}
		return 0
	})
	return out
}

// uniforms draws n numbers in (0, 1) by the minimal standard generator of S. K. Park and K. W. Miller, 1988, shuffled
// by a table of 32 (C. Bays, S. D. Durham, 1976).
func uniforms(n, seed int) []float64 {
	const modulus, multiplier = 2147483647, 16807
	state := max(seed, 1)
	next := func() int {
		state = multiplier * state % modulus
		return state
	}
	var table [32]int
	for i := 39; i >= 0; i-- {
		if v := next(); i < len(table) {
			table[i] = v
		}
	}
	out, last := make([]float64, n), table[0]
	for i := range out {
		v := next()
		at := last / 67108865
		last, table[at] = table[at], v
		out[i] = max(float64(last)/modulus, 1e-99)
	}
	return out
}

// gaussians draws n standard normal numbers by the Box-Muller method.
func gaussians(n, seed int) []float64 {
	u := uniforms(2*n, seed)
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Sqrt(-2*math.Log(u[i])) * math.Cos(2*math.Pi*u[n+i])
		if out[i] == 0 {
			out[i] = 1e-99
		}
	}
	return out
}
