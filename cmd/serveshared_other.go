//go:build !unix

package cmd

import "errors"

// share refuses: memory is shared on Linux and macOS (docs/serve.md).
func (s *sharedPolicy) share() error {
	return errors.New("it is for Linux and macOS; want evorl serve without --shared")
}
