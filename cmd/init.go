package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/config"
)

func newInit(known *evorl.Catalog) *cobra.Command {
	var set []string
	cmd := &cobra.Command{
		Use:   "init [flags] WORKFLOW ENV",
		Short: "Write a commented configuration",
		Long: paragraphs(
			"Write the configuration of a workflow on an environment or a problem to standard output: every key with its default, range and meaning. Keys " +
				"that are not wanted can be deleted, since a missing key has its default.",
		),
		Example: "  evorl init ppo Hopper-v5 > my.toml\n  evorl init --set iterations=100 --set bbob.function=8 cma-es bbob > rosenbrock.toml",
		Args:    between(2, 2, "want a WORKFLOW and an ENV or problem; see evorl list"),
		RunE: func(cmd *cobra.Command, args []string) error {
			options := []evorl.Option{evorl.Use(known), evorl.Context(cmd.Context())}
			if strings.HasSuffix(args[1], evorl.RobotSuffix) { // a robot has no reward of its own
				options = append(options, evorl.Set("task.reward='1 - 0.001 * effort'"))
			}
			for _, text := range set {
				options = append(options, evorl.Set(text))
			}
			cfg, err := evorl.New(args[0], args[1], options...)
			var wrong *config.Error
			if errors.As(err, &wrong) && wrong.Flag == "evorl.New" { // the arguments
				wrong.Flag = "evorl init"
			}
			if err != nil {
				return err
			}
			for _, text := range cfg.Warnings() {
				warn(cmd.ErrOrStderr(), "%s", text)
			}
			text, err := cfg.Template()
			if err != nil {
				return err
			}
			w := cfg.Workflow()
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "# %s on %s: %s\n# %s\n\n%s", w.Name, args[1], w.Summary, w.Source, text)
			return err
		},
		ValidArgsFunction: completeWorkflowAndPlace(known),
	}
	cmd.Flags().StringArrayVar(&set, "set", nil, "set a `KEY=VALUE`, such as ppo.members=64 (repeatable)")
	return cmd
}
