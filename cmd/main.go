// Package cmd is the command line of evorl. A program with environments, strategies or problems of its own has all of it with them:
//
//	func main() { cmd.Main(evorl.OwnEnvironment(envs.New(spec, glsl)), evorl.OwnStrategy("summary", defaults)) }
//
// They are then names like the built-in ones, in configurations and in every command; see docs/own.md. Command evorl is the program without any:
//
//	evorl run configs/pbt.toml       learn, on the first device
//	evorl worker URL                 compute for a run on another machine
//	evorl cluster status URL         show the workers of a shared run
//	evorl cluster key FILE           show the key by which workers trust a run
//	evorl sweep FILE.toml            try settings of a configuration
//	evorl eval RUN_DIR               evaluate the newest checkpoint of a run
//	evorl view RUN_DIR               show an episode in three dimensions
//	evorl play RUN_DIR RUN_DIR       let the policies of two runs play each other
//	evorl compare runs/*             compare methods by the scores of their runs
//	evorl serve RUN_DIR              answer observations with actions, over HTTP
//	evorl watch RUN_DIR              follow a run in a web page
//	evorl plot runs/*                draw learning curves
//	evorl inspect RUN_DIR            show where a run came from and what it has saved
//	evorl export --onnx FILE RUN_DIR write a policy for other programs
//	evorl list                       workflows, environments, problems and configuration keys
//	evorl init ppo Hopper-v5         write a commented configuration
//	evorl devices                    what there is to compute on
//	evorl bench --suite core         how fast it computes
//	evorl bench compare FILE...      compare results of several devices or versions
//	evorl completion bash            write a script that completes command lines
//	evorl man DIR                    write manual pages
//
// The exit status is 0 after success, 2 when the command line or a configuration is wrong, 1 when something failed at run time, and
// 128 + n when the run was ended by signal n (130 after Ctrl-C); such a run has written a checkpoint that it can be resumed from.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/traces"
)

// Main runs the command line of the process, with parts of the program's own, and exits. With parts, the commands bear the program's name in help and
// completions. Parts that are wrong end it with status 2.
func Main(parts ...evorl.Part) {
	name := "evorl"
	if len(parts) > 0 {
		name = strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	}
	known, err := evorl.NewCatalog(parts...)
	if err != nil {
		fmt.Fprintln(os.Stderr, describe(err))
		os.Exit(statusUsage)
	}
	ctx, stop := withSignals(context.Background())
	end, err := traces.Begin(ctx, rundir.Version(), func(err error) { fmt.Fprintf(os.Stderr, "%s: warning: %v\n", name, err) })
	if err != nil {
		fmt.Fprintln(os.Stderr, describe(err))
		os.Exit(statusUsage)
	}
	status := execute(ctx, newRoot(name, known), os.Args[1:], os.Stdout, os.Stderr)
	end()
	stop()
	os.Exit(status)
}

// execute runs a command line and returns its exit status.
func execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	return exitStatus(show(stderr, err))
}

// newRoot makes the command line of a program.
func newRoot(name string, known *evorl.Catalog) *cobra.Command {
	root := &cobra.Command{
		Use:   name,
		Short: "Train populations of agents on any GPU",
		Long: paragraphs(
			"evorl trains populations of agents, by reinforcement learning, evolution and their hybrids, wholly on the GPU: on any " +
				"vendor's through Vulkan, or on the processor through a software driver.",
		),
		Example: "  evorl run configs/pbt.toml\n  evorl run --device 1 --seed 7 --set ppo.members=64 configs/pbt.toml\n  evorl list",
		Version: rundir.Version(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		SilenceErrors: true, // execute reports them
		SilenceUsage:  true,
	}
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		hint := "see evorl --help"
		if near := config.Nearest(args[0], names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return usagef("there is no command %q; %s", args[0], hint)
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) && unknown.GetSpecifiedName() == "wandb" {
			return usagef("%s", wandbRecipe)
		}
		return usagef("%v%s; see %s --help", err, nearestFlag(cmd, err), cmd.CommandPath())
	})
	root.SetUsageTemplate(usageTemplate)
	cobra.EnableCommandSorting = false // keep the order of a typical session
	root.AddCommand(
		newRun(known), newWorker(known), newSweep(known),
		newEval(known), newView(known), newPlay(known), newServe(known), newWatch(known), newCompare(known), newPlot(known),
		newInspect(known), newCluster(), newExport(known), newList(known), newInit(known), newDevices(), newBench(), newMan(),
	)
	addCompletions(known, root)
	return root
}

// wandbRecipe answers --wandb.
const wandbRecipe = `--wandb: evorl run sends no metrics to Weights & Biases. Python can send them at any time, by their names in metrics.jsonl:
  import json, wandb
  with wandb.init(project="evorl", name="RUN_DIR") as run:
      for line in open("RUN_DIR/metrics.jsonl"):
          record = json.loads(line)
          run.log({name: float(value) for name, value in record.items()}, step=record["iteration"])
The package evorlgpu has a callback for it: docs/python.md. evorl watch RUN_DIR shows the run in a page of its own`

// nearestFlag returns a question for the flag that a misspelt one most likely means, "" if there is none.
func nearestFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if name := config.Nearest(unknown.GetSpecifiedName(), names); name != "" {
		return fmt.Sprintf("; did you mean --%s?", name)
	}
	return ""
}

// usageTemplate is cobra's without the parts that evorl does not use.
const usageTemplate = `Usage:
{{if .HasParent}}  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}{{if .HasParent}}
{{end}}  {{.CommandPath}} COMMAND{{end}}

Examples:
{{.Example}}
{{if .HasAvailableSubCommands}}
Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}
{{end}}
Flags:
{{.LocalFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}
{{if .HasAvailableSubCommands}}
See {{.CommandPath}} COMMAND --help for the flags of a command.
{{end}}`

// paragraphs joins the paragraphs of a help text, wrapped like the flags below them.
func paragraphs(texts ...string) string {
	for i, text := range texts {
		texts[i] = strings.Join(wrap(text, helpWidth), "\n")
	}
	return strings.Join(texts, "\n\n")
}

// helpWidth is the width of help texts, in columns.
const helpWidth = 100

// between limits the number of a command's arguments; `what` names them.
func between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return usagef("%s; got %d arguments; see %s --help", what, n, cmd.CommandPath())
		}
		return nil
	}
}
