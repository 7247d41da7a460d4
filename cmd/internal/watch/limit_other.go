//go:build !unix

package watch

import "math"

func descriptorLimit() int { return math.MaxInt32 }
