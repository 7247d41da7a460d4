package main

import "github.com/spf13/cobra"

// complete lets the shell complete a flag by fixed words.
func complete(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the command has no such flag: a defect of the program
	}
}
