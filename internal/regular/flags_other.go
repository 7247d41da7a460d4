//go:build !unix

package regular

// Links are detected before a file is opened. Pipes have no paths among files.
const (
	noFollow = 0
	nonBlock = 0
)
