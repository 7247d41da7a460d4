//go:build !unix

package regular

// Links are looked for before a file is opened; pipes have no paths among files.
const (
	noFollow = 0
	nonBlock = 0
)
