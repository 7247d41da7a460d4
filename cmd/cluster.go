package cmd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/vk"
)

func newCluster() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Show the workers of a shared run, and the key that signs it",
		Long:  "Show what the workers of a run on several machines do, and by which key they trust it.",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newClusterStatus(), newClusterKey())
	return cmd
}

func newClusterKey() *cobra.Command {
	return &cobra.Command{
		Use:   "key FILE",
		Short: "Show the public key of a key that signs runs, or make one",
		Long: paragraphs(
			"Print the public key of the key in FILE, which evorl run --sign FILE uses, for evorl worker --trust. A file that does not exist gets a new key, " +
				"so that workers can be started before the run.",
		),
		Example: "  evorl cluster key key.txt",
		Args:    between(1, 1, "want the FILE of --sign"),
		RunE: func(cmd *cobra.Command, args []string) error {
			public, err := evorl.SigningKey(args[0])
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), public)
			}
			return err
		},
	}
}

func newClusterStatus() *cobra.Command {
	var f clusterFlags
	var over time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [flags] URL",
		Short: "Show the workers of a shared run, and how fast they are",
		Long: paragraphs(
			"Ask the coordinator of the run at a URL, which it has shown, for its workers: their devices, the iteration in which they are, slices a second, the "+
				"time of a slice, and bytes. The rates are those of the time between two questions.",
			"A worker whose slices take half as long again as the median worker's is called slow; one that has left says why.",
		),
		Example: "  evorl cluster status nats://127.0.0.1:4222/run\n  evorl cluster status --login login.txt --tls-ca ca.pem tls://coordinator:4222",
		Args:    between(1, 1, "want the URL that the run shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.address = args[0]
			if err := f.config().CheckWorker(); err != nil {
				return usagef("%v", err)
			}
			if over < 0 {
				return usagef("--over %v: want at least 0s", over)
			}
			before, err := evorl.ReadClusterStatus(cmd.Context(), f.config())
			if err != nil {
				return err
			}
			now := before
			if over > 0 && !asJSON {
				select {
				case <-time.After(over):
				case <-cmd.Context().Done():
					return cmd.Context().Err()
				}
				if now, err = evorl.ReadClusterStatus(cmd.Context(), f.config()); err != nil {
					return err
				}
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(now)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), clusterText(before, now))
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().DurationVar(&over, "over", 2*time.Second, "`TIME` over which rates are measured; 0: none are")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one answer as JSON, with counts instead of rates")
	return cmd
}

// slowFactor is how many times the median time of a slice a slow worker takes.
const slowFactor = 1.5

// clusterText formats the workers of a run, with the rates between two answers.
func clusterText(before, now *evorl.ClusterStatus) string {
	seconds := now.At.Sub(before.At).Seconds()
	rate := func(from, to float64) string {
		if seconds <= 0 || to < from {
			return ""
		}
		return short((to - from) / seconds)
	}
	old := map[string]evorl.ClusterWorker{}
	for _, w := range before.Workers {
		old[w.Name] = w
	}
	var times []float64
	takes := 0
	for _, w := range now.Workers {
		if !w.Left && w.Iteration >= 0 {
			takes++
		}
		if !w.Left && w.SliceTime > 0 {
			times = append(times, w.SliceTime)
		}
	}
	slices.Sort(times)
	iteration := 0
	for _, w := range now.Workers {
		iteration = max(iteration, w.Iteration+1)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "run %s: iteration %d of %d, %s of %s", plain(now.Run), iteration, now.Iterations, plural(takes, "worker"),
		plural(len(now.Workers), "known worker"))
	if text := rate(float64(before.Done), float64(now.Done)); text != "" {
		fmt.Fprintf(&b, ", %s slices/s", text)
	}
	members := now.Divides != rundir.Candidates
	rows := [][]string{{"worker", "device", "iteration", "slices", "slices/s", "s a slice", "from it", "to it", ""}}
	if now.Divides == rundir.Runs {
		b.WriteString("\neach worker does a run of the sweep at a time\n\n")
		rows[0][3] = "has runs"
	} else if members {
		fmt.Fprintf(&b, "\nthe %s are in %s, %d done in all iterations\n\n", now.Divides, plural(now.Slices, "slice"), now.Done)
		rows[0][3] = "has slices"
	} else {
		fmt.Fprintf(&b, "\nthe candidates are in %s, %d done in all iterations, %d of them twice, %s sent to all\n\n", plural(now.Slices, "slice"), now.Done,
			now.Again, vk.ByteSize(uint64(now.ToAll)))
	}
	for _, w := range now.Workers {
		state := ""
		switch {
		case w.Left && w.Cause != "":
			state = "left: " + w.Cause
		case w.Left:
			state = "left"
		case w.Iteration < 0:
			state = "joins"
		case len(times) > 2 && w.SliceTime > slowFactor*times[len(times)/2]:
			state = "slow"
		}
		of := []string{plain(w.Name), plain(w.Device), "", fmt.Sprint(w.Slices), rate(float64(old[w.Name].Slices), float64(w.Slices)), "", "", "", plain(state)}
		if members {
			of[3] = fmt.Sprint(w.Has)
		}
		if w.Iteration >= 0 {
			of[2] = fmt.Sprint(w.Iteration + 1)
		}
		if w.SliceTime > 0 {
			of[5] = fmt.Sprintf("%.3g", w.SliceTime)
		}
		if w.Received > 0 {
			of[6], of[7] = vk.ByteSize(uint64(w.Received)), vk.ByteSize(uint64(w.Sent))
		}
		rows = append(rows, of)
	}
	writeColumns(&b, rows)
	return b.String()
}
