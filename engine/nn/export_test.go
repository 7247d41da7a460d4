package nn

// Evaluate64 evaluates a perceptron in float64. row holds its parameters.
func Evaluate64(net Model, row, x []float64) []float64 {
	return (&reference{net: net, row: row}).forward(x)
}
