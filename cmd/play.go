package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/vk"
)

// playFlags are the flags of evorl play.
type playFlags struct {
	known   *evorl.Catalog
	device  string
	seed    string
	games   int
	members []int
	asJSON  bool
}

func newPlay(known *evorl.Catalog) *cobra.Command {
	f := &playFlags{known: known}
	cmd := &cobra.Command{
		Use:   "play [flags] RUN_DIR RUN_DIR|scripted|random",
		Short: "Let the policies of two runs play each other",
		Long: paragraphs(
			"Play games between the newest checkpoints of two runs, in a world of two seats, and write how often the first one wins, draws half, with a 95 % "+
				"interval, and its mean return. Actions are the most likely ones, and who has the first seat is drawn for each game. Both runs must have the "+
				"same world and the same networks. The games of seed S are the same every time.",
			"In place of the second run, scripted is the script of the world, if it has one, and random draws actions uniformly. Runs in folders of these names "+
				"are ./scripted and ./random.",
		),
		Example: "  evorl play runs/self-play-PongDuel-v0-1 runs/self-play-PongDuel-v0-2\n" +
			"  evorl play --games 1000 --members 0,3 runs/self-play-PongDuel-v0-1 runs/ppo-PongDuel-v0-1\n" +
			"  evorl play --games 1000 runs/self-play-SlimeVolleyDuel-v0-1 scripted",
		Args: between(2, 2, "want two RUN_DIRs, or one and scripted or random"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, [2]string{args[0], args[1]}) },
	}
	addDevice(cmd, &f.device)
	cmd.Flags().IntVar(&f.games, "games", 100, "play `N` games")
	cmd.Flags().IntSliceVar(&f.members, "members", []int{0, 0}, "`A,B`: members of the first and of the second run")
	cmd.Flags().StringVar(&f.seed, "seed", "0", "seed `S` of the games")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "end with one line of JSON on standard output")
	return cmd
}

func (f *playFlags) run(cmd *cobra.Command, paths [2]string) error {
	if err := checkEpisodes(f.games); err != nil {
		return usagef("--games %d: want as many as episodes of an evaluation, at least 1", f.games)
	}
	if len(f.members) != 2 {
		return usagef("--members %v: want two, of the first and of the second run", f.members)
	}
	seed, err := strconv.ParseUint(f.seed, 10, 32)
	if err != nil {
		return usagef("--seed %s: want 0 to %d", f.seed, uint32(1<<32-1))
	}
	var configs [2]*evorl.Config
	for i, path := range paths {
		if i == 1 && playerOf(path) != envs.PoolPlayer {
			continue
		}
		if configs[i], err = evorl.Stored(path, evorl.Use(f.known)); err != nil {
			return err
		}
	}
	return withDevice(cmd.Context(), cmd.ErrOrStderr(), f.device, func(ctx context.Context, dev *vk.Device) error {
		return cause(ctx, f.play(ctx, cmd, dev, configs, paths, uint32(seed)))
	})
}

// playerOf returns the player of the world that an argument names; envs.PoolPlayer: it is a run.
func playerOf(argument string) envs.Player {
	for _, p := range []envs.Player{envs.ScriptedPlayer, envs.RandomPlayer} {
		if argument == p.String() {
			return p
		}
	}
	return envs.PoolPlayer
}

// play restores the runs and plays.
func (f *playFlags) play(ctx context.Context, cmd *cobra.Command, dev *vk.Device, configs [2]*evorl.Config, paths [2]string, seed uint32) (err error) {
	var sides [2]evorl.Side
	for i, path := range paths {
		if configs[i] == nil {
			sides[i].Player = playerOf(path)
			continue
		}
		restored, err := restore(ctx, dev, configs[i], path, seed, false)
		if err != nil {
			return err
		}
		defer func() { _ = restored.Close() }() // nothing was changed
		for _, refused := range restored.Refused() {
			warn(cmd.ErrOrStderr(), "%v", refused)
		}
		sides[i] = evorl.Side{Run: restored, Member: f.members[i]}
	}
	m, err := evorl.Play(ctx, dev, sides[0], sides[1], f.games, seed)
	var world *evorl.WorldError
	if errors.As(err, &world) {
		return usagef("%v", world)
	}
	if err != nil {
		return err
	}
	if f.asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(m)
	}
	out := cmd.OutOrStdout()
	for i, side := range m.Sides {
		if side.Player != "" {
			fmt.Fprintf(out, "%c  %s\n", 'A'+i, side.Player)
			continue
		}
		fmt.Fprintf(out, "%c  %s, %s at iteration %d, member %d\n", 'A'+i, side.Path, side.Workflow, side.Iteration, side.Member)
	}
	_, err = fmt.Fprintf(out, "%s on %s: A won %d, drew %d and lost %d\nwin rate of A  %.3f (95 %% interval %.3f to %.3f)\n"+
		"return of A    %.3f ± %.3f\n",
		plural(m.Games, "game"), m.Env, m.Won, m.Drew, m.Lost, float64(m.WinRate), float64(m.Low), float64(m.High), float64(m.Return), float64(m.Deviation))
	return err
}
