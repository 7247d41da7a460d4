package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/rundir"
)

// kept are the files and folders that the folder of a run or of a sweep, which has the configuration, keeps of itself.
var kept = []struct {
	config string
	names  []string
}{
	{rundir.ConfigFile, []string{
		rundir.ConfigFile, rundir.ProvenanceFile, rundir.MetricsFile, rundir.MembersFile, rundir.LineageFile, rundir.EventsDir, rundir.CheckpointsDir,
		rundir.BestDir, rundir.LockFile,
	}},
	{"base.toml", []string{"base.toml", evorl.SweepFile, rundir.LockFile}},
}

// writes makes a command refuse, before it runs, to write the files of flags over what a run or a sweep keeps of itself.
func writes(cmd *cobra.Command, flags ...string) {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range flags {
			path := cmd.Flags().Lookup(name).Value.String()
			if of := keeper(path); of != "" {
				return usagef("--%s %s: %s keeps this file of its own: want another name or folder", name, path, of)
			}
		}
		return nil
	}
}

// keeper returns the folder of the run or sweep that a file belongs to; "": none.
func keeper(path string) string {
	if path == "" {
		return ""
	}
	real, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	if of, err := filepath.EvalSymlinks(real); err == nil {
		real = of
	} else if of, err := filepath.EvalSymlinks(filepath.Dir(real)); err == nil { // a new file
		real = filepath.Join(of, filepath.Base(real))
	}
	for at := real; filepath.Dir(at) != at; at = filepath.Dir(at) {
		folder, name := filepath.Split(at)
		for _, of := range kept {
			if info, err := os.Stat(filepath.Join(folder, of.config)); err != nil || info.Size() > 1<<20 || !info.Mode().IsRegular() {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, of.config))
			source := err == nil && bytes.Contains(text, []byte(strconv.Quote(name))) // env = "NAME"
			if source || slices.ContainsFunc(of.names, func(own string) bool { return strings.EqualFold(own, name) }) {
				return filepath.Clean(folder)
			}
		}
	}
	return ""
}
