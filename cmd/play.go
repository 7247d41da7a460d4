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
	draw    bool
	members []int
	asJSON  bool
}

func newPlay(known *evorl.Catalog) *cobra.Command {
	f := &playFlags{known: known}
	cmd := &cobra.Command{
		Use:   "play [flags] RUN_DIR RUN_DIR|scripted|random|best",
		Short: "Let the policies of two runs play each other",
		Long: paragraphs(
			"Play games between the newest checkpoints of two runs, in a world of two seats, and write how often the first one wins, draws half, with a 95 % "+
				"interval, and its mean return. Actions are the most likely ones, or with --draw drawn as in training, which a policy of poker needs to bluff. Who "+
				"has the first seat is drawn for each game. Both runs must have the same world and the same networks. The games of seed S are the same every time.",
			"In place of the second run, scripted is the script of the world, if it has one, and random draws actions uniformly. best is the best response, where "+
				"all plays of the game can be listed (KuhnPoker-v0, LeducPoker-v0): no games are played, and what it wins against the first run's policy, whose actions "+
				"are drawn, is exact. The mean over both seats is the policy's exploitability, 0 of an equilibrium; of self-play there is also that of the pool, of "+
				"which one opponent is drawn for each game. Runs in folders of these names are ./scripted, ./random and ./best.",
		),
		Example: "  evorl play runs/self-play-PongDuel-v0-1 runs/self-play-PongDuel-v0-2\n" +
			"  evorl play --games 1000 --members 0,3 runs/self-play-PongDuel-v0-1 runs/ppo-PongDuel-v0-1\n" +
			"  evorl play --games 1000 runs/self-play-SlimeVolleyDuel-v0-1 scripted\n" +
			"  evorl play runs/self-play-KuhnPoker-v0-1 best",
		Args: between(2, 2, "want two RUN_DIRs, or one and scripted, random or best"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, [2]string{args[0], args[1]}) },
	}
	addDevice(cmd, &f.device)
	cmd.Flags().IntVar(&f.games, "games", 100, "play `N` games")
	cmd.Flags().IntSliceVar(&f.members, "members", []int{0, 0}, "`A,B`: members of the first and of the second run")
	cmd.Flags().StringVar(&f.seed, "seed", "0", "seed `S` of the games")
	cmd.Flags().BoolVar(&f.draw, "draw", false, "draw the policies' actions, instead of taking the most likely ones")
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
	if paths[1] == bestResponse {
		for _, name := range []string{"games", "seed", "draw"} {
			if cmd.Flags().Changed(name) {
				return usagef("--%s: against the best response no games are played; want none", name)
			}
		}
	}
	var configs [2]*evorl.Config
	for i, path := range paths {
		if i == 1 && (playerOf(path) != envs.PoolPlayer || path == bestResponse) {
			continue
		}
		if configs[i], err = evorl.Stored(path, evorl.Use(f.known)); err != nil {
			return err
		}
	}
	return withDevice(cmd.Context(), cmd.ErrOrStderr(), f.device, func(ctx context.Context, dev *vk.Device) error {
		if paths[1] == bestResponse {
			return cause(ctx, f.exploit(ctx, cmd, dev, configs[0], paths[0]))
		}
		return cause(ctx, f.play(ctx, cmd, dev, configs, paths, uint32(seed)))
	})
}

// bestResponse is the argument that names the best response in place of a run.
const bestResponse = "best"

// exploit restores a run and computes the best response to its policy.
func (f *playFlags) exploit(ctx context.Context, cmd *cobra.Command, dev *vk.Device, cfg *evorl.Config, path string) error {
	restored, err := restoreSide(ctx, cmd, dev, cfg, path, 0)
	if err != nil {
		return err
	}
	defer func() { _ = restored.Close() }() // nothing was changed
	of, err := evorl.Exploit(ctx, restored, f.members[0])
	var world *evorl.WorldError
	if errors.As(err, &world) {
		return usagef("%v", world)
	}
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if f.asJSON {
		return json.NewEncoder(out).Encode(of)
	}
	a := of.Side
	fmt.Fprintf(out, "A  %s, %s at iteration %d, member %d\nB  the best response on %s\n", a.Path, a.Workflow, a.Iteration, a.Member, of.Env)
	write := func(what string, r evorl.Response) {
		fmt.Fprintf(out, "exploitability of %s  %.4f (B returns %.4f from the first seat, %.4f from the second)\n", what, float64(r.Exploitability),
			float64(r.Returns[0]), float64(r.Returns[1]))
	}
	if write("A", of.Policy); of.Pool != nil {
		write(fmt.Sprintf("A's pool of %s", plural(of.Opponents, "opponent")), *of.Pool)
	}
	return nil
}

// restoreSide restores a run that plays, and warns of checkpoints that it could not use.
func restoreSide(ctx context.Context, cmd *cobra.Command, dev *vk.Device, cfg *evorl.Config, path string, seed uint32) (*evorl.Restored, error) {
	restored, err := restore(ctx, dev, cfg, path, seed, false)
	if err != nil {
		return nil, err
	}
	for _, refused := range restored.Refused() {
		warn(cmd.ErrOrStderr(), "%v", refused)
	}
	return restored, nil
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
		restored, err := restoreSide(ctx, cmd, dev, configs[i], path, seed)
		if err != nil {
			return err
		}
		defer func() { _ = restored.Close() }() // nothing was changed
		sides[i] = evorl.Side{Run: restored, Member: f.members[i]}
	}
	m, err := evorl.Play(ctx, dev, sides[0], sides[1], evorl.PlayConfig{Games: f.games, Seed: seed, Draw: f.draw})
	var world *evorl.WorldError
	if errors.As(err, &world) {
		return usagef("%v", world)
	}
	if errors.Is(err, evorl.ErrNoDistribution) {
		return usagef("--draw: %v", err)
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
