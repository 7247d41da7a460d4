package nn

// Evaluate64 evaluates a perceptron, whose parameters are a row, in float64.
func Evaluate64(net MLP, row, x []float64) []float64 {
	return (&reference{net: net, row: row}).forward(x)
}
