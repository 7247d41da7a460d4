package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/vk"
)

// completer proposes completions of a partial word.
type completer = func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective)

const noFiles = cobra.ShellCompDirectiveNoFileComp

// complete makes the shell complete a flag with fixed words.
func complete(cmd *cobra.Command, flag string, words ...string) {
	completeBy(cmd, flag, cobra.FixedCompletions(words, noFiles))
}

func completeBy(cmd *cobra.Command, flag string, by completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // the command has no such flag: a defect of the program
	}
}

// addCompletions adds completions that several commands share: devices, keys, run directories, configurations and
// names.
func addCompletions(known *evorl.Catalog, root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.Flag("device") != nil {
			completeBy(cmd, "device", completeDevices)
		}
		if cmd.Flag("set") != nil {
			completeBy(cmd, "set", completeSettings(known))
		}
		if cmd.Flag("metric") != nil {
			completeBy(cmd, "metric", completeMetrics)
		}
		if cmd.ValidArgsFunction != nil {
			continue
		}
		switch use := cmd.Use; {
		case strings.Contains(use, "RUN_DIR"):
			cmd.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		case strings.Contains(use, ".toml"):
			cmd.ValidArgsFunction = cobra.FixedCompletions([]cobra.Completion{"toml"}, cobra.ShellCompDirectiveFilterFileExt)
		case strings.Contains(use, "FILE") || strings.Contains(use, "DIR"):
		default:
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// completeDevices proposes the numbers of devices.
func completeDevices(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	found, err := vk.Devices()
	if err != nil {
		return nil, noFiles
	}
	var out []cobra.Completion
	for _, d := range found {
		out = append(out, cobra.CompletionWithDesc(fmt.Sprint(d.Index), d.Name))
	}
	return out, noFiles
}

// completeMetrics proposes the metrics of the first readable run.
func completeMetrics(_ *cobra.Command, runs []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	for _, path := range runs {
		dir, err := rundir.Open(path)
		if err != nil {
			continue
		}
		if last, err := metrics.Last(dir.Metrics()); err == nil && last != nil {
			return metrics.Names([]metrics.Record{*last}), noFiles
		}
	}
	return nil, noFiles
}

// completeSettings proposes KEY= for the configuration on the command line, or for all workflows if there is none;
// after KEY=, it proposes values if they are few.
func completeSettings(known *evorl.Catalog) completer {
	return func(_ *cobra.Command, args []string, begun string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
		name, _, given := strings.Cut(begun, "=")
		for _, k := range settings(known, args) {
			switch {
			case !given && strings.HasPrefix(k.name, name):
				out = append(out, cobra.CompletionWithDesc(k.name+"=", firstSentence(k.key.Doc)))
			case given && k.name == name:
				values := k.key.Choices
				if k.key.Type == "boolean" {
					values = []string{"true", "false"}
				}
				for _, v := range values {
					out = append(out, name+"="+v)
				}
				return out, noFiles
			}
		}
		return out, noFiles | cobra.ShellCompDirectiveNoSpace
	}
}

// configKey is a key of a configuration, by its dotted name.
type configKey struct {
	name string
	key  config.Key
}

// settings returns the keys of the first readable configuration, or of all workflows and problems.
func settings(known *evorl.Catalog, files []string) (out []configKey) {
	add := func(section string, keys []config.Key) {
		for _, k := range keys {
			name := k.Name
			if section != "" {
				name = section + "." + k.Name
			}
			if !slices.ContainsFunc(out, func(of configKey) bool { return of.name == name }) {
				out = append(out, configKey{name, k})
			}
		}
	}
	for _, path := range files {
		cfg, err := evorl.Read(path, evorl.Use(known))
		if err != nil {
			continue
		}
		for _, s := range cfg.Sections() {
			if keys, err := config.Schema(s.Value); err == nil {
				add(s.Name, keys)
			}
		}
		return out
	}
	all, err := everything(known)
	if err != nil {
		return nil
	}
	for _, x := range all {
		for _, s := range x.Sections {
			add(s.Name, s.Keys)
		}
	}
	return out
}

// firstSentence returns a text up to its first full stop.
func firstSentence(text string) string {
	if at := strings.Index(text, ". "); at >= 0 {
		text = text[:at]
	}
	return strings.TrimSuffix(text, ".")
}

// workflowNames and placeNames return names with descriptions, for completion.
func workflowNames(known *evorl.Catalog) (out []cobra.Completion) {
	for _, w := range known.Workflows() {
		out = append(out, cobra.CompletionWithDesc(w.Name, w.Summary))
	}
	return out
}

func placeNames(known *evorl.Catalog) (out []cobra.Completion) {
	for _, name := range known.Environments().Names() {
		out = append(out, cobra.Completion(name))
	}
	for _, p := range known.Problems() {
		out = append(out, cobra.CompletionWithDesc(p.Name, p.Summary))
	}
	return out
}

// completeWorkflowAndPlace proposes a workflow, then an environment or a problem.
func completeWorkflowAndPlace(known *evorl.Catalog) completer {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return workflowNames(known), noFiles
		case 1:
			return placeNames(known), noFiles
		}
		return nil, noFiles
	}
}

// completeListed proposes the arguments of evorl list.
func completeListed(known *evorl.Catalog) completer {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		return append(workflowNames(known), placeNames(known)...), noFiles
	}
}
