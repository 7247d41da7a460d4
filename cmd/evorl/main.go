// Command evorl trains populations of agents on any GPU, or on the processor by a software driver: see package cmd.
package main

import "github.com/evorl/evorl/cmd"

func main() { cmd.Main() }
