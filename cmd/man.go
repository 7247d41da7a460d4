package cmd

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/evorl/evorl/engine/rundir"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages into a folder",
		Long: paragraphs(
			"Write a manual page of each command into a folder, which is made. man finds them where the folder is share/man/man1 of a prefix on the path.",
		),
		Example: "  evorl man ~/.local/share/man/man1\n  man evorl-run",
		Args:    between(1, 1, "want one DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "evorl " + rundir.Version(), Manual: "evorl"}, args[0]); err != nil {
				return fmt.Errorf("manual pages: %w", err)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), args[0])
			return err
		},
	}
}
