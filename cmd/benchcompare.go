package cmd

import (
	"bytes"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl/cmd/bench"
)

func newBenchCompare() *cobra.Command {
	var baseline int
	var svg string
	var markdown bool
	cmd := &cobra.Command{
		Use:   "compare [flags] FILE...",
		Short: "Compare results of evorl bench --out",
		Long: paragraphs(
			"Set results side by side: each figure, how many times as fast it is as the baseline's, and the geometric means of these for each suite, over the " +
				"cases that both have. Results of a machine that was busy are marked.",
		),
		Example: "  evorl bench compare a.json b.json\n  evorl bench compare --baseline 2 --svg speed.svg a.json b.json",
		Args:    between(1, maxCompared, "want files that evorl bench --out wrote"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var results []*bench.Result
			for _, path := range args {
				of, err := bench.ReadFile(path)
				var bad *bench.FileError
				if errors.As(err, &bad) {
					return usagef("%v", err)
				}
				if err != nil {
					return err
				}
				results = append(results, of...)
			}
			if baseline < 1 || baseline > len(results) {
				return usagef("--baseline %d: want 1 to %d, the number of a result", baseline, len(results))
			}
			c, err := bench.Compare(results, baseline-1)
			if err != nil {
				return err
			}
			if svg != "" {
				var b bytes.Buffer
				if err := c.WriteSVG(&b); err != nil {
					return err
				}
				return exportFile(cmd.OutOrStdout(), svg, b.Bytes())
			}
			text := c.Text()
			if markdown {
				text = c.Markdown()
			}
			_, err = io.WriteString(cmd.OutOrStdout(), plainLines(text))
			return err
		},
	}
	cmd.Flags().IntVar(&baseline, "baseline", 1, "compare with result `N`, counted from 1")
	cmd.Flags().StringVar(&svg, "svg", "", "draw the comparison to `FILE`, in place of the table")
	writes(cmd, "svg")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "write the tables as Markdown")
	return cmd
}

// maxCompared is more results than anybody can read.
const maxCompared = 1000
