package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

const deviceUsage = "compute on device `N|NAME`: its number in evorl devices or a part of its name " +
	"(default $EVORL_DEVICE, else the first GPU, else the software driver)"

// addDevice adds the flag --device.
func addDevice(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "device", "", deviceUsage)
}

// openDevice opens the device that --device names.
func openDevice(name string) (*vk.Device, error) {
	if name == "" {
		return vk.Open()
	}
	if n, err := strconv.Atoi(name); err == nil {
		return vk.Open(vk.Index(n))
	}
	return vk.Open(vk.Name(name))
}

// restore loads the newest checkpoint of a run, or its best state.
func restore(ctx context.Context, dev *vk.Device, cfg *evorl.Config, path string, seed uint32, best bool) (*evorl.Restored, error) {
	if best {
		return evorl.RestoreBest(ctx, dev, cfg, path, seed)
	}
	return evorl.Restore(ctx, dev, cfg, path, seed)
}

// episodeSeed returns the seed of new episodes: the flag's or the run's. For the best state it is the next one,
// since the best state was selected by the run's own episodes.
func episodeSeed(flag string, cfg *evorl.Config, best bool) (uint32, error) {
	switch {
	case flag != "":
		return parseSeed(flag)
	case best:
		return cfg.Run.Seed + 1, nil
	}
	return cfg.Run.Seed, nil
}

// restoredFlags select a state of a run and the seed of new episodes with it.
type restoredFlags struct {
	known        *evorl.Catalog
	device, seed string
	best         bool
	episodes     int // see addEpisodes
}

// addEpisodes adds the flag of the number of episodes by which a member is chosen.
func (s *restoredFlags) addEpisodes(cmd *cobra.Command) {
	cmd.Flags().IntVar(&s.episodes, "episodes", 0, "`N` episodes of each member that choose the best, and as many new ones that evaluate it again "+
		"(default the run's evaluation.best_episodes, or 10)")
}

// usualEpisodes is the default of --episodes where the run evaluates nothing again.
const usualEpisodes = 10

// checkEpisodes checks --episodes, if it is given.
func (s *restoredFlags) checkEpisodes(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("episodes") {
		return nil
	}
	return checkEpisodes(s.episodes)
}

// checkEpisodes checks a flag of episodes.
func checkEpisodes(episodes int) error {
	if episodes < 1 || episodes > engine.MaxEpisodes {
		return usagef("--episodes %d: want 1 to %d", episodes, engine.MaxEpisodes)
	}
	return nil
}

// member returns the member that --member names, else the best one, with the choice if there was one.
func (s *restoredFlags) member(ctx context.Context, cmd *cobra.Command, restored *evorl.Restored, named int) (int, *evorl.Choice, error) {
	if cmd.Flags().Changed("member") {
		return named, nil, nil
	}
	choice, err := restored.Best(ctx, cmp.Or(s.episodes, restored.Config().Evaluation.BestEpisodes, usualEpisodes))
	if err != nil || choice.Episodes == 0 {
		return choice.Member, nil, err
	}
	return choice.Member, &choice, nil
}

// restored calls f with the selected state of the run in a folder. It prints errors.
func (s *restoredFlags) restored(cmd *cobra.Command, path string, f func(context.Context, *evorl.Restored) error) error {
	cfg, err := evorl.Stored(path, evorl.Use(s.known))
	if err != nil {
		return err
	}
	seed, err := episodeSeed(s.seed, cfg, s.best)
	if err != nil {
		return err
	}
	screen := cmd.ErrOrStderr()
	return withDevice(cmd.Context(), screen, s.device, func(ctx context.Context, dev *vk.Device) error {
		r, err := restore(ctx, dev, cfg, path, seed, s.best)
		if err != nil {
			return cause(ctx, err)
		}
		return closing(screen, cause(ctx, f(ctx, r)), r.Close)
	})
}

// withDevice calls f with a device, which it closes afterwards, when it has printed the error of f.
func withDevice(ctx context.Context, screen io.Writer, device string, f func(context.Context, *vk.Device) error) error {
	dev, err := openDevice(device)
	if err != nil {
		return err
	}
	return closing(screen, f(ctx, dev), func() error {
		if err := dev.Close(); err != nil {
			return fmt.Errorf("closing the device: %w", err)
		}
		return nil
	})
}
