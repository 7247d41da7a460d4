package catalog

import (
	"regexp"
	"strings"
)

// lackPage lists what evorl does not do.
const lackPage = "docs/limits.md"

// lack is something that other programs do and evorl does not, by the names under which people look for it. Its sentence is as in
// lackPage; what lands later leaves both.
type lack struct {
	names    *regexp.Regexp // in lower case, with - for _ / : and spaces
	sentence string
}

// lacks are looked through in order.
var lacks = []lack{
	{
		regexp.MustCompile(`^atari|^ale-|noframeskip|^(breakout|seaquest|space-?invaders|asterix|freeway|qbert|montezuma-?revenge|ms-?pacman)\b|` +
			`procgen|minigrid|crafte?r|craftax|car-?racing|vizdoom|\bcnn\b|convnet|convolution|pixels`),
		"of environments with images or grids as observations evorl itself has MinAtar's games and Pong only",
	},
	{
		regexp.MustCompile(`lstm|\bgru\b|\brnn\b|recurrent|memory|transformer|r2d2|^rppo$|^drqn$`),
		"memory is a layer in networks of ppo, a2c, impala, dqn and searches; ddpg, td3, sac and redq have none, and there are no transformers",
	},
	{
		regexp.MustCompile(`^(mappo|ippo|maddpg|qmix|vdn|coma|masac|matd3)$|multi-?agent`),
		"in worlds of several agents evorl has ppo with critics that see what the agent sees (IPPO) or what all agents see (MAPPO: " +
			"critic_input = \"world\"), no critics of joint actions (MADDPG, COMA) and no sums of values (VDN, QMIX)",
	},
	{
		regexp.MustCompile(`petting-?zoo|smax?c|overcooked|jax-?marl|^mpe\b|mpe2`),
		"of worlds of several agents evorl has particle worlds, WaterWorld, Pong, SlimeVolley and a kitchen of Overcooked only",
	},
	{
		regexp.MustCompile(`psro|nash|co-?evolution`),
		"self-play of evorl is against earlier versions, other members of a population, scripts and the players of a league (league = true), " +
			"not against mixtures that solve a game (PSRO)",
	},
	{
		regexp.MustCompile(`cluster|multi-?gpu|multi-?node|distributed|^ray|^mpi|sebulba|ape-?x|seed-?rl|data-?parallel|all-?reduce|^ddp$|horovod`),
		"searches, agents and PBT of agents share several devices of a machine (--device 0,1) and several machines (--cluster), other hybrids do not; " +
			"gradients of one agent are for devices of one machine (gradient_parts of ppo, a2c and impala)",
	},
	{
		regexp.MustCompile(`muzero|alpha-?zero|mcts|dreamer|world-?model|mbpo|td-?mpc|planet$`),
		"evorl learns no models of environments and does not plan",
	},
	{
		regexp.MustCompile(`^(bc|cql|iql|awac|td3-?bc|gail|dagger)$|offline|imitation|behaviou?r-?cloning|d4rl|demonstration`),
		"evorl learns from its own experience only: not offline, and not from demonstrations",
	},
	{
		regexp.MustCompile(`^(clip|es-?clip|clip-.*|abstract-?painting)$|text-?to-?image|diffusion`),
		"evorl has no image models such as CLIP; a Go program may score painted pictures by one",
	},
	{
		regexp.MustCompile(`^(neat|hyperneat|rt-?neat|es-?hyperneat|tensorneat)$|topology`),
		"evorl evolves the parameters of networks, not their topology",
	},
	{
		regexp.MustCompile(`^(brax|gymnasium|gym|pettingzoo|dm-?control|dmc|mujoco-?playground|isaac|isaacgym|envpool|gymnax|jumanji|evogym)\b|` +
			`^(lunar-?lander|bipedal-?walker|frozen-?lake|taxi|blackjack|cliff-?walking)\b`),
		"of other programs evorl runs environments with Gymnasium's interface (env = \"gymnasium:ID\", or \"python:MODULE:FUNCTION\"), " +
			"worlds of PettingZoo's parallel API (\"pettingzoo:MODULE\") and servers that speak its protocol (\"exec:PROGRAM\") or " +
			"dm_env_rpc (\"dm_env_rpc://HOST:PORT\"), on the processor",
	},
}

// Lacks tells that evorl does not do what a name stands for, in a sentence with the page that lists such things; "" if
// nothing is known of the name.
func Lacks(name string) string {
	name = strings.NewReplacer("_", "-", "/", "-", ":", "-", " ", "-").Replace(strings.ToLower(name))
	for _, of := range lacks {
		if of.names.MatchString(name) {
			return of.sentence + "; see " + lackPage
		}
	}
	return ""
}
