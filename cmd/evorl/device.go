package main

import (
	"context"
	"fmt"
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
func restore(ctx context.Context, eng *engine.Engine, cfg *evorl.Config, path string, best bool) (*evorl.Restored, error) {
	if best {
		return evorl.RestoreBest(ctx, eng, cfg, path)
	}
	return evorl.Restore(ctx, eng, cfg, path)
}

// episodeSeed returns the seed of new episodes: that of the flag or the run's. For the best state it is the next one,
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
}

// restored calls f with the selected state of the run in a folder.
func (s *restoredFlags) restored(ctx context.Context, path string, f func(context.Context, *evorl.Restored) error) error {
	cfg, err := evorl.Stored(path, evorl.Use(s.known))
	if err != nil {
		return err
	}
	seed, err := episodeSeed(s.seed, cfg, s.best)
	if err != nil {
		return err
	}
	return withEngine(ctx, s.device, seed, func(ctx context.Context, eng *engine.Engine) error {
		r, err := restore(ctx, eng, cfg, path, s.best)
		if err != nil {
			return cause(ctx, err)
		}
		defer func() { _ = r.Close() }() // nothing was changed
		return cause(ctx, f(ctx, r))
	})
}

// withEngine calls f with an engine on a device, which it closes afterwards.
func withEngine(ctx context.Context, device string, seed uint32, f func(context.Context, *engine.Engine) error) (err error) {
	dev, err := openDevice(device)
	if err != nil {
		return err
	}
	defer func() {
		if e := dev.Close(); err == nil && e != nil {
			err = fmt.Errorf("closing the device: %w", e)
		}
	}()
	return f(ctx, engine.New(dev, engine.Seed(seed)))
}
