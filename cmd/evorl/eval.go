package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl/cmd/session"
	"github.com/evorl/evorl/engine"
)

func newEval() *cobra.Command {
	var device, seed string
	var episodes int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "eval [flags] RUN_DIR",
		Short: "Evaluate the newest checkpoint of a run",
		Long: "Run new episodes with the newest checkpoint of a run; actions are the policy's most likely ones. For PBT the figures are those of\n" +
			"the member with the best fitness in training, which these episodes had no part in choosing; for other workflows they are over\n" +
			"all members. The episodes of seed S are the same every time; without --seed it is the run's own.",
		Example: "  evorl eval --episodes 100 runs/pbt-CartPole-v1-1",
		Args:    between(1, 1, "want one RUN_DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if episodes < 1 || episodes > maxEpisodes {
				return usagef("--episodes %d: want 1 to %d", episodes, maxEpisodes)
			}
			cfg, err := session.Config(args[0], nil)
			if err != nil {
				return err
			}
			engineSeed := cfg.Run.Seed
			if seed != "" {
				if engineSeed, err = parseSeed(seed); err != nil {
					return err
				}
			}
			return withEngine(cmd.Context(), device, engineSeed, func(ctx context.Context, eng *engine.Engine) error {
				e, err := session.Evaluate(ctx, eng, cfg, args[0], episodes)
				if err != nil {
					return cause(ctx, err)
				}
				for _, refused := range e.Refused {
					warn(cmd.ErrOrStderr(), "%v", refused)
				}
				if asJSON {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(e)
				}
				return writeEvaluation(cmd, e)
			})
		},
	}
	addDevice(cmd, &device)
	cmd.Flags().IntVar(&episodes, "episodes", 100, "`N` episodes of each member")
	cmd.Flags().StringVar(&seed, "seed", "", "seed `S` of the episodes (default the run's)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "end with one line of JSON on standard output")
	return cmd
}

// maxEpisodes is that of evaluation.episodes.
const maxEpisodes = 65536

func writeEvaluation(cmd *cobra.Command, e session.Evaluation) error {
	of := fmt.Sprintf("all %d members", e.Members)
	over := plural(e.Episodes, "episode")
	switch {
	case e.Member != nil:
		of = fmt.Sprintf("member %d, the fittest of %d,", *e.Member, e.Members)
	case e.Members == 1:
		of = "the only member"
	default:
		over += " each"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s at iteration %d\n", e.Workflow, e.Env, e.Iteration)
	if e.Members > 1 {
		b.WriteByte('\n')
		writeMembers(&b, ranked(e))
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "return of %s %s ± %s over %s\n", of, short(float64(e.MeanReturn)), short(float64(e.StdReturn)), over)
	_, err := io.WriteString(cmd.OutOrStdout(), b.String())
	return err
}

// ranked is the evaluation's members, the highest mean first.
func ranked(e session.Evaluation) []session.Member {
	members := make([]session.Member, e.Members)
	for i := range members {
		members[i] = session.Member{Index: i, Return: float64(e.MemberReturns[i]), Deviation: float64(e.MemberDeviations[i])}
	}
	slices.SortStableFunc(members, func(a, b session.Member) int { return -cmp.Compare(a.Return, b.Return) })
	return members
}
