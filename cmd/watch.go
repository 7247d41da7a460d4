package cmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/cmd/internal/plot"
	"github.com/evorl/evorl/cmd/internal/watch"
	"github.com/evorl/evorl/vk"
)

func newWatch(known *evorl.Catalog) *cobra.Command {
	var device string
	var port int
	cmd := &cobra.Command{
		Use:   "watch [flags] RUN_DIR",
		Short: "Follow a run in a web page",
		Long: paragraphs(
			"Serve a web page that follows a run, at work or ended: its curves, its members, the lineage of population based training, and the episode of the newest " +
				"checkpoint in three dimensions, which is computed when it is asked for. The page only reads, needs no network, and answers on this " +
				"machine alone. Ctrl-C ends it.",
		),
		Example: "  evorl watch runs/pbt-CartPole-v1-1\n  evorl run --watch configs/pbt.toml",
		Args:    between(1, 1, "want one RUN_DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := evorl.Stored(args[0], evorl.Use(known))
			if err != nil {
				return err
			}
			server, err := servePage(cfg, args[0], device, port)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), server.URL()); err != nil {
				return err
			}
			<-cmd.Context().Done()
			return server.Close()
		},
	}
	addDevice(cmd, &device)
	cmd.Flags().IntVar(&port, "port", 0, "answer on port `N` (0: any that is free)")
	return cmd
}

// servePage serves the page of a run; device is used for episodes.
func servePage(cfg *evorl.Config, path, device string, port int) (*watch.Server, error) {
	if port < 0 || port > 65535 {
		return nil, usagef("--port %d: want 0 to 65535", port)
	}
	source := watch.Source{
		Path: path, Title: cfg.Run.Workflow + " on " + cfg.Run.Env, Total: cfg.Run.Iterations, Priority: "return",
	}
	if cfg.Env() == nil {
		source.Priority = "evaluation"
	}
	if cfg.Selects() {
		source.Lineage = func(w io.Writer) error {
			figure, err := drawLineage(cfg, path, plot.Options{}, func(string, ...any) {})
			if err != nil {
				return err
			}
			return figure.WriteSVG(w)
		}
	}
	if env := cfg.Env(); env != nil && env.Geometry != nil {
		source.Episode = func(ctx context.Context, w io.Writer) error {
			write := func(ctx context.Context, dev *vk.Device) error { return writeEpisode(ctx, dev, cfg, path, w) }
			return withDevice(ctx, io.Discard, device, write) // the page shows its error
		}
	}
	return watch.Serve(source, port)
}

// pageEpisodes is the number of episodes that choose the member of the page, which shows no score of it.
const pageEpisodes = 10

// writeEpisode writes the page of an episode of the newest checkpoint's best member.
func writeEpisode(ctx context.Context, dev *vk.Device, cfg *evorl.Config, path string, w io.Writer) error {
	restored, err := evorl.Restore(ctx, dev, cfg, path, cfg.Run.Seed)
	if err != nil {
		return err
	}
	defer func() { _ = restored.Close() }() // nothing was changed
	choice, err := restored.Best(ctx, pageEpisodes)
	if err != nil {
		return err
	}
	_, show, err := recordEpisode(ctx, cfg, restored, choice.Member)
	if err != nil {
		return err
	}
	return show.WritePage(w)
}
