//go:build !unix

package cmd

import "errors"

// share is not implemented here.
func (s *sharedPolicy) share() error {
	return errors.New("it is for Linux and macOS; want evorl serve without --shared")
}
