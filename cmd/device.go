package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

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

// addRunDevices adds the flag --device of a command that can share a run among devices.
func addRunDevices(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "device", "", deviceUsage+"; a search, an agent and PBT also on several: N,N,... or all")
}

// addSweepDevices adds the flag --device of a command that runs several runs.
func addSweepDevices(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "device", "", deviceUsage+"; several, N,N,... or all, each run one run at a time")
}

// several reports whether --device names a list of devices.
func several(device string) bool { return device == allDevices || numbers(device) != nil }

// allDevices is the value of --device for all GPUs or, without one, all processors.
const allDevices = "all"

// numbers returns the numbers of a list of at least two devices; nil if it is none. The names of devices have commas too.
func numbers(device string) (list []int) {
	for _, text := range strings.Split(device, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return nil
		}
		list = append(list, n)
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

// gpus returns the numbers of all GPUs that can run every kernel; nil without one.
func gpus() (list []int, err error) {
	found, err := vk.Devices()
	if err != nil {
		return nil, err
	}
	return distinct(slices.DeleteFunc(found, func(d vk.Info) bool { return !d.Type.GPU() || suits(d) != "" })), nil
}

// distinct returns the numbers of GPUs, each once: beside a GPU's own driver, one that translates is a second name of the GPU, and two of its own drivers,
// such as AMD's and Mesa's, give it the same place on the bus. Parts of a GPU are in one place, too, by one driver.
func distinct(gpus []vk.Info) (list []int) {
	own := slices.ContainsFunc(gpus, func(d vk.Info) bool { return !d.Translated })
	for i, d := range gpus {
		again := slices.ContainsFunc(gpus[:i], func(e vk.Info) bool { return d.PCI != "" && e.PCI == d.PCI && e.Driver != d.Driver })
		if !again && !(d.Translated && own) {
			list = append(list, d.Index)
		}
	}
	return list
}

// suits returns why evorl does not run on a device, or "": what its kernels need and a GPU does not have. Software drivers have it.
func suits(d vk.Info) string {
	if !d.Type.GPU() {
		return ""
	}
	missing, err := engine.Missing(d)
	if err != nil {
		return err.Error()
	}
	if n := len(missing); n > 1 {
		return fmt.Sprintf("%s, and %d more (evorl devices lists them)", missing[0], n-1)
	}
	return strings.Join(missing, "")
}

// openDevices opens the devices that --device names. all are the GPUs or, where there is none, the default device once for each processor. Software devices
// beside each other compute in one thread each.
func openDevices(device string) (all []*vk.Device, err error) {
	list := numbers(device)
	each := make([][]vk.Option, 0, len(list))
	if device == allDevices {
		if list, err = gpus(); err != nil {
			return nil, err
		}
		if len(list) == 0 {
			each = make([][]vk.Option, runtime.NumCPU())
		}
	}
	for _, n := range list {
		each = append(each, []vk.Option{vk.Index(n), vk.Suits(suits)})
	}
	if len(each) == 0 {
		dev, err := openDevice(device)
		return []*vk.Device{dev}, err
	}
	for _, options := range each {
		if len(each) > 1 {
			options = append(options, vk.OneThread())
		}
		dev, err := vk.Open(options...)
		if err != nil {
			return nil, errors.Join(err, closeDevices(all))
		}
		all = append(all, dev)
	}
	return all, nil
}

// count returns the number of devices that openDevices opens; 1 of a device that is none of several.
func count(device string) (int, error) {
	if device != allDevices {
		return max(1, len(numbers(device))), nil
	}
	list, err := gpus()
	if len(list) == 0 {
		return runtime.NumCPU(), err
	}
	return len(list), err
}

// firstDevice returns the name of the first of the devices that --device names.
func firstDevice(device string) string {
	if list := numbers(device); list != nil {
		return strconv.Itoa(list[0])
	}
	if device == allDevices {
		return ""
	}
	return device
}

func closeDevices(all []*vk.Device) error {
	var errs []error
	for _, dev := range all {
		if err := dev.Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing the device: %w", err))
		}
	}
	return errors.Join(errs...)
}

// withDevices calls f with devices, which it closes afterwards, when it has printed the error of f.
func withDevices(ctx context.Context, screen io.Writer, device string, f func(context.Context, []*vk.Device) error) error {
	all, err := openDevices(device)
	if err != nil {
		return err
	}
	return closing(screen, f(ctx, all), func() error { return closeDevices(all) })
}

// openDevice opens the device that --device names.
func openDevice(name string) (*vk.Device, error) {
	if name == "" {
		return vk.Open(vk.Suits(suits))
	}
	if n, err := strconv.Atoi(name); err == nil {
		return vk.Open(vk.Index(n), vk.Suits(suits))
	}
	return vk.Open(vk.Name(name), vk.Suits(suits))
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
	draw, draws  bool // see addDraw; whether there is this flag
	episodes     int  // see addEpisodes
}

// addDraw adds the flag that overrides the run's evaluation.draw.
func (s *restoredFlags) addDraw(cmd *cobra.Command) {
	s.draws = true
	cmd.Flags().BoolVar(&s.draw, "draw", false, "draw actions instead of taking the most likely ones (default the run's evaluation.draw)")
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
	if s.draws && cmd.Flags().Changed("draw") {
		cfg.Evaluation.Draw = s.draw
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
	return closing(screen, f(ctx, dev), func() error { return closeDevices([]*vk.Device{dev}) })
}
