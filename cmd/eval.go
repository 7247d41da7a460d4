package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
)

func newEval(known *evorl.Catalog) *cobra.Command {
	state := restoredFlags{known: known}
	var episodes, member int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "eval [flags] RUN_DIR",
		Short: "Evaluate the newest checkpoint of a run, or its best",
		Long: paragraphs(
			"Run new episodes with the newest checkpoint of a run; actions are the policy's most likely ones, unless the run's evaluations draw them or "+
				"--draw says so. For PBT the figures are those "+
				"of the member that is best in these very episodes, which favours luck, and then those in new episodes; for other workflows they are over all members, "+
				"unless --member names one. The episodes of seed S are the same every time; without --seed it is the run's own.",
			"--best takes, in place of the newest checkpoint, the state of the run in which a member had the highest mean return of all "+
				"evaluations, and that member. That choice favours luck, so its episodes are others than the run's: those of the next seed.",
		),
		Example: "  evorl eval --episodes 100 runs/pbt-CartPole-v1-1\n  evorl eval --best runs/openes-CartPole-v1-1",
		Args:    between(1, 1, "want one RUN_DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkEpisodes(episodes); err != nil {
				return err
			}
			return state.restored(cmd, args[0], func(ctx context.Context, restored *evorl.Restored) error {
				e, err := restored.Evaluate(ctx, episodes, named(cmd, "member", &member))
				if err != nil {
					return err
				}
				for _, refused := range e.Refused {
					warn(cmd.ErrOrStderr(), "%v", refused)
				}
				if e.Failures > 0 {
					warn(cmd.ErrOrStderr(), "environments failed %d times, and their episodes were cut off; the last: %v", e.Failures, e.LastFailure)
				}
				if asJSON {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(e)
				}
				return writeEvaluation(cmd, e)
			})
		},
	}
	addDevice(cmd, &state.device)
	cmd.Flags().IntVar(&episodes, "episodes", 100, "`N` episodes of each member")
	cmd.Flags().BoolVar(&state.best, "best", false, "evaluate the best state of the run, not its newest checkpoint")
	state.addDraw(cmd)
	cmd.Flags().StringVar(&state.seed, "seed", "", "seed `S` of the episodes (default the run's, or with --best the next)")
	cmd.Flags().IntVar(&member, "member", 0, "figures of member `N` (default for PBT the best of these episodes, else all)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "end with one line of JSON on standard output")
	return cmd
}

// named returns the value of a flag that was given; nil: not given.
func named(cmd *cobra.Command, flag string, value *int) *int {
	if cmd.Flags().Changed(flag) {
		return value
	}
	return nil
}

func writeEvaluation(cmd *cobra.Command, e evorl.Evaluation) error {
	which := "the best "
	if cmd.Flags().Changed("member") {
		which = ""
	}
	of := fmt.Sprintf("all %d members", e.Members)
	over := plural(e.Episodes, "episode")
	switch {
	case e.Members == 1:
		of = "the only member"
	case e.Member != nil:
		of = fmt.Sprintf("member %d, %sof %d,", *e.Member, which, e.Members)
	default:
		over += " each"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s at iteration %d", e.Workflow, e.Env, e.Iteration)
	if e.Best != nil {
		fmt.Fprintf(&b, ", the best by the run's own evaluations: %s over %s of member %d",
			short(float64(e.Best.Return)), plural(e.Best.Episodes, "episode"), e.Best.Member)
	}
	b.WriteByte('\n')
	if e.Members > 1 {
		b.WriteByte('\n')
		writeMembers(&b, e.Measure, ranked(e))
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s of %s %s ± %s over %s%s\n", e.Measure, of, short(float64(e.MeanReturn)), short(float64(e.StdReturn)), over, againText(e.BestAgain))
	if e.Draw {
		b.WriteString("actions were drawn from the policy's distribution\n")
	}
	if e.Broken > 0 {
		fmt.Fprintf(&b, "not in it: %s whose policies gave numbers that are not finite\n", plural(e.Broken, "episode"))
	}
	if e.SeatReturns != nil {
		b.WriteString("by seat")
		for seat, mean := range e.SeatReturns {
			fmt.Fprintf(&b, "  %d: %s", seat, short(float64(mean)))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(cmd.OutOrStdout(), b.String())
	return err
}

// ranked returns the evaluation's members by descending mean.
func ranked(e evorl.Evaluation) []evorl.Member {
	members := make([]evorl.Member, e.Members)
	for i := range members {
		members[i] = evorl.Member{Index: i, Return: float64(e.MemberReturns[i]), Deviation: float64(e.MemberDeviations[i])}
	}
	slices.SortStableFunc(members, func(a, b evorl.Member) int { return -cmp.Compare(a.Return, b.Return) })
	return members
}
