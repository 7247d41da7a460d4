package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"io"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/ec/problem"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/internal/durable"
)

// exports are the files that evorl export writes; "": not written.
type exports struct{ onnx, safetensors, policy, png, csv, parquet string }

func newExport(known *evorl.Catalog) *cobra.Command {
	var to exports
	state := restoredFlags{known: known}
	var member, size int
	cmd := &cobra.Command{
		Use:   "export [flags] RUN_DIR",
		Short: "Write a policy, a picture or metrics for other programs",
		Long: paragraphs(
			"Write the policy of a member in the newest checkpoint of a run, with the normalization of observations and what makes actions of "+
				"the network's outputs: as ONNX, as safetensors with names by layer, or as JSON. It acts by its likeliest actions. The member is "+
				"the best in --episodes episodes, the first that evorl eval runs; --best takes the state and the member that did best in the run's own evaluations. "+
				"What was chosen is evaluated again in as many new episodes, and both figures are shown.",
			"--png writes the picture that a search on painting has found for a member, chosen likewise.",
			"--csv and --parquet write all metrics as a table. TensorBoard reads a run directory as it is.",
			"docs/exports.md shows how other programs load each, Weights & Biases among them.",
		),
		Example: "  evorl export --onnx policy.onnx runs/ppo-Hopper-v5-1\n  evorl export --best --safetensors policy.safetensors runs/pbt-CartPole-v1-1\n" +
			"  evorl export --csv metrics.csv runs/ppo-Hopper-v5-1\n  evorl export --png picture.png --size 800 runs/pgpe-painting-1",
		Args: between(1, 1, "want one RUN_DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == (exports{}) {
				return usagef("nothing to write: want --onnx FILE, --safetensors FILE, --policy FILE, --png FILE, --csv FILE or --parquet FILE")
			}
			if err := state.checkEpisodes(cmd); err != nil {
				return err
			}
			if cmd.Flags().Changed("size") && (to.png == "" || size < 1 || size > problem.MaxSide) {
				return usagef("--size %d: want 1 to %d, the pixels of a picture's longer side, with --png FILE", size, problem.MaxSide)
			}
			if err := exportMetrics(cmd, args[0], to); err != nil {
				return err
			}
			to.csv, to.parquet = "", ""
			if to == (exports{}) {
				return nil
			}
			return state.restored(cmd, args[0], func(ctx context.Context, restored *evorl.Restored) error {
				for _, refused := range restored.Refused() {
					warn(cmd.ErrOrStderr(), "%v", refused)
				}
				member, choice, err := state.member(ctx, cmd, restored, member)
				if err != nil {
					return err
				}
				if to.png != "" {
					if err := exportPicture(ctx, cmd.OutOrStdout(), to.png, restored, member, size); err != nil {
						return err
					}
				}
				if to.png = ""; to == (exports{}) {
					return nil
				}
				p, err := restored.Policy(ctx, member)
				if err != nil {
					return err
				}
				return to.write(p, choice, cmd.OutOrStdout())
			})
		},
	}
	cmd.Flags().StringVar(&to.onnx, "onnx", "", "write the policy to `FILE` as ONNX")
	cmd.Flags().StringVar(&to.safetensors, "safetensors", "", "write the policy's arrays to `FILE`, by layer")
	cmd.Flags().StringVar(&to.policy, "policy", "", "write the policy to `FILE` as JSON")
	cmd.Flags().StringVar(&to.png, "png", "", "write the picture of a search on painting to `FILE`")
	cmd.Flags().IntVar(&size, "size", 0, "`N` pixels of the picture's longer side (default as in the run)")
	cmd.Flags().StringVar(&to.csv, "csv", "", "write the metrics to `FILE` as comma-separated values")
	cmd.Flags().StringVar(&to.parquet, "parquet", "", "write the metrics to `FILE` as Apache Parquet")
	cmd.Flags().IntVar(&member, "member", 0, "the policy or picture of member `N` (default the best)")
	cmd.Flags().BoolVar(&state.best, "best", false, "of the best state of the run, not its newest checkpoint")
	cmd.Flags().StringVar(&state.seed, "seed", "", "seed `S` of the episodes (default the run's, or with --best the next)")
	state.addEpisodes(cmd)
	addDevice(cmd, &state.device)
	writes(cmd, "onnx", "safetensors", "policy", "png", "csv", "parquet")
	return cmd
}

// write writes a policy in the requested forms; choice tells why it is of this member.
func (to exports) write(p *evorl.Policy, choice *evorl.Choice, out io.Writer) error {
	fmt.Fprintf(out, "member %d of %s on %s at iteration %d\n", p.Member, p.Workflow, p.Env, p.Iteration)
	if choice != nil {
		fmt.Fprintln(out, choiceText(*choice))
	}
	if to.onnx != "" {
		if err := exportFile(out, to.onnx, p.ONNX().Encode()); err != nil {
			return err
		}
	}
	if to.safetensors != "" {
		var b bytes.Buffer
		tensors, facts := p.Tensors()
		if err := checkpoint.WriteSafetensors(&b, tensors, facts); err != nil {
			return err
		}
		if err := exportFile(out, to.safetensors, b.Bytes()); err != nil {
			return err
		}
	}
	if to.policy != "" {
		text, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("the policy of member %d cannot be written as JSON: %w", p.Member, err)
		}
		return exportFile(out, to.policy, append(text, '\n'))
	}
	return nil
}

// exportPicture writes the picture of a member.
func exportPicture(ctx context.Context, out io.Writer, file string, restored *evorl.Restored, member, size int) error {
	img, err := restored.Picture(ctx, member, size)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return err
	}
	return exportFile(out, file, b.Bytes())
}

// exportMetrics writes the metrics of a run in the requested forms.
func exportMetrics(cmd *cobra.Command, run string, to exports) error {
	if to.csv == "" && to.parquet == "" {
		return nil
	}
	dir, err := rundir.Open(run)
	if err != nil {
		return err
	}
	records, bad, err := metrics.ReadFile(dir.Metrics())
	if err != nil {
		return err
	}
	if bad != nil {
		warn(cmd.ErrOrStderr(), "%v", bad)
	}
	for _, form := range []struct {
		file  string
		write func(io.Writer, []metrics.Record) error
	}{{to.csv, metrics.WriteCSV}, {to.parquet, metrics.WriteParquet}} {
		if form.file == "" {
			continue
		}
		var b bytes.Buffer
		if err := form.write(&b, records); err != nil {
			return err
		}
		if err := exportFile(cmd.OutOrStdout(), form.file, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// exportFile writes a file and reports it.
func exportFile(out io.Writer, file string, data []byte) error {
	if err := durable.ReplaceFile(file, data); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "wrote %s (%d bytes)\n", plain(file), len(data))
	return err
}
