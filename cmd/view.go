package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/envs/view"
	"github.com/evorl/evorl/internal/durable"
	"github.com/evorl/evorl/vk"
)

// viewFlags are the flags of evorl view.
type viewFlags struct {
	restoredFlags
	out, gif, png string
	chosen        int
	picture       view.Picture
	asJSON        bool
}

// viewed is the output of evorl view --json.
type viewed struct {
	Workflow  string         `json:"workflow"`
	Env       string         `json:"env"`
	Seed      uint32         `json:"seed"` // of the episode
	Iteration int            `json:"iteration"`
	Member    int            `json:"member"`
	Return    evorl.Number   `json:"return"`
	Seats     []evorl.Number `json:"seats,omitempty"` // returns of the seats; Return is their mean; absent: there is one
	Length    int            `json:"length"`          // environment steps
	Seconds   float64        `json:"seconds"`
	Files     []string       `json:"files"`

	Choice *evorl.Choice `json:"choice,omitempty"` // unless --member named the member, or it is the only one

	Origin *evorl.Origin `json:"origin,omitempty"` // of PBT, and of hybrids of agents and a search
}

func newView(known *evorl.Catalog) *cobra.Command {
	f := &viewFlags{restoredFlags: restoredFlags{known: known}}
	cmd := &cobra.Command{
		Use:   "view [flags] RUN_DIR",
		Short: "Show an episode in three dimensions",
		Long: paragraphs(
			"Run one episode with the newest checkpoint of a run and write a web page that plays it, with the return and the actions "+
				"beside it. The page needs nothing but a browser. The episode is the first of those that evorl eval runs with the same seed, "+
				"and actions are the policy's most likely ones, unless the run's evaluations draw them or --draw says so. Without --member it "+
				"shows the member that is best in --episodes episodes, and tells what that returns in as many new ones.",
			"Of a member of PBT it names the copies that led to it; of hybrids of agents and a search, whether evolution or learning made the "+
				"best candidate, and when.",
			"--gif and --png write pictures for other pages, instead of the page unless --out names one.",
		),
		Example: "  evorl view runs/ppo-Hopper-v5-1\n  evorl view --gif hopper.gif --at 1 --seconds 5 runs/ppo-Hopper-v5-1\n" +
			"  evorl view --member 3 --seed 7 --out member3.html runs/ppo-Hopper-v5-1",
		Args: between(1, 1, "want one RUN_DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	addDevice(cmd, &f.device)
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "write the page to `FILE` (default episode.html in RUN_DIR)")
	cmd.Flags().StringVar(&f.gif, "gif", "", "write a moving picture to `FILE`")
	cmd.Flags().StringVar(&f.png, "png", "", "write a still picture to `FILE`")
	writes(cmd, "out", "gif", "png")
	cmd.Flags().IntVar(&f.chosen, "member", 0, "show member `N` (default the best)")
	f.addEpisodes(cmd)
	f.addDraw(cmd)
	cmd.Flags().BoolVar(&f.best, "best", false, "show the best state of the run, not its newest checkpoint: see evorl eval --help")
	cmd.Flags().StringVar(&f.seed, "seed", "", "seed `S` of the episode (default the run's, or with --best the next)")
	cmd.Flags().Float64Var(&f.picture.At, "at", 0, "`SECONDS` into the episode at which pictures begin")
	cmd.Flags().Float64Var(&f.picture.Seconds, "seconds", 8, "length of --gif in `SECONDS`; it ends with the episode")
	cmd.Flags().IntVar(&f.picture.Width, "width", 480, "`PIXELS` of pictures from left to right")
	cmd.Flags().IntVar(&f.picture.Height, "height", 320, "`PIXELS` of pictures from top to bottom")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "end with one line of JSON on standard output")
	return cmd
}

func (f *viewFlags) check(cmd *cobra.Command) error {
	if err := f.checkEpisodes(cmd); err != nil {
		return err
	}
	const most = 4096
	switch p := f.picture; {
	case !(p.At >= 0 && p.At < 1e9):
		return usagef("--at %v: want seconds, at least 0", p.At)
	case !(p.Seconds > 0 && p.Seconds <= 600):
		return usagef("--seconds %v: want more than 0 and at most 600", p.Seconds)
	case p.Width < 16 || p.Width > most:
		return usagef("--width %d: want 16 to %d", p.Width, most)
	case p.Height < 16 || p.Height > most:
		return usagef("--height %d: want 16 to %d", p.Height, most)
	}
	return nil
}

func (f *viewFlags) run(cmd *cobra.Command, path string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	cfg, err := evorl.Stored(path, evorl.Use(f.known))
	if err != nil {
		return err
	}
	if env := cfg.Env(); env == nil || env.Geometry == nil {
		return usagef("%s: %s cannot be seen: it has no geometry; want position in its file, or a Geometry in its Spec", path, cfg.Run.Env)
	}
	seed, err := episodeSeed(f.seed, cfg, f.best)
	if err != nil {
		return err
	}
	if f.out == "" && f.gif == "" && f.png == "" {
		f.out = filepath.Join(path, "episode.html")
	}
	return withDevice(cmd.Context(), cmd.ErrOrStderr(), f.device, func(ctx context.Context, dev *vk.Device) error {
		return cause(ctx, f.show(ctx, cmd, dev, cfg, path, seed))
	})
}

// show records the episode and writes the files.
func (f *viewFlags) show(ctx context.Context, cmd *cobra.Command, dev *vk.Device, cfg *evorl.Config, path string, seed uint32) error {
	restored, err := restore(ctx, dev, cfg, path, seed, f.best)
	if err != nil {
		return err
	}
	defer func() { _ = restored.Close() }() // nothing was changed
	for _, refused := range restored.Refused() {
		warn(cmd.ErrOrStderr(), "%v", refused)
	}
	member, choice, err := f.member(ctx, cmd, restored, f.chosen)
	if err != nil {
		return err
	}
	episode, show, err := recordEpisode(ctx, cfg, restored, member)
	if err != nil {
		return err
	}
	v := viewed{
		Workflow: cfg.Run.Workflow, Env: cfg.Run.Env, Seed: seed, Iteration: restored.Iteration(), Member: member, Choice: choice,
		Return: evorl.Number(episode.Return()), Length: episode.Steps, Seconds: show.Seconds(), Files: []string{},
		Origin: origin(restored, member, func(format string, args ...any) { warn(cmd.ErrOrStderr(), format, args...) }),
	}
	if n := len(episode.Seats); n > 0 {
		for _, sum := range episode.Seats[n-1] {
			v.Seats = append(v.Seats, evorl.Number(sum))
		}
	}
	for _, file := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{f.out, show.WritePage},
		{f.gif, func(w io.Writer) error { return show.WriteGIF(w, f.picture) }},
		{f.png, func(w io.Writer) error { return show.WritePNG(w, f.picture) }},
	} {
		if file.path == "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := writeFile(file.path, file.write); err != nil {
			if file.path == f.out && !cmd.Flags().Changed("out") {
				return fmt.Errorf("%w; want --out FILE to write the page elsewhere", err)
			}
			return err
		}
		v.Files = append(v.Files, file.path)
	}
	return f.report(cmd, v)
}

func (f *viewFlags) report(cmd *cobra.Command, v viewed) error {
	out := cmd.OutOrStdout()
	if f.asJSON {
		return json.NewEncoder(out).Encode(v)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s at iteration %d, member %d: return %s in %s\n",
		v.Workflow, v.Env, v.Iteration, v.Member, short(float64(v.Return)), plural(v.Length, "step"))
	if len(v.Seats) > 0 {
		b.WriteString("of the seats:")
		for _, sum := range v.Seats {
			fmt.Fprintf(&b, " %s", short(float64(sum)))
		}
		b.WriteByte('\n')
	}
	if v.Choice != nil {
		fmt.Fprintf(&b, "%s\n", choiceText(*v.Choice))
	}
	writeOrigin(&b, v.Member, v.Origin)
	for _, file := range v.Files {
		fmt.Fprintln(&b, file)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// recordEpisode records an episode of a member for a viewer.
func recordEpisode(ctx context.Context, cfg *evorl.Config, restored *evorl.Restored, member int) (*envs.Episode, *view.Show, error) {
	episode, err := restored.Record(ctx, member)
	if err != nil {
		return nil, nil, err
	}
	show, err := view.New(cfg.Env(), episode, cfg.Environment.ActionRepeat)
	if err != nil {
		return nil, nil, err
	}
	show.Caption = fmt.Sprintf("%s, iteration %d, member %d, seed %d", cfg.Run.Workflow, restored.Iteration(), member, restored.Seed())
	return episode, show, nil
}

// writeFile replaces a file by the output of write.
func writeFile(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return durable.ReplaceFile(path, b.Bytes())
}
