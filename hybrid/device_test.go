package hybrid

import (
	"testing"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/checkpoint"
	"github.com/evorl/evorl/envs"
	"github.com/evorl/evorl/internal/vktest"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

func TestMain(m *testing.M) { vktest.Main(m) }

func open(t testing.TB) *vk.Device {
	t.Helper()
	return vktest.Device(t)
}

// small are settings of PPO that take no time.
func small(members int) rl.PPOConfig {
	cfg := rl.DefaultPPO()
	cfg.Members, cfg.Environments, cfg.RolloutLength, cfg.Epochs, cfg.Minibatches = members, 3, 8, 1, 2
	return cfg
}

// network has every kind of tensor: the normalizer's too.
func network() rl.Option {
	cfg := rl.DefaultNetwork()
	cfg.Hidden, cfg.NormalizeObs = []int{8}, true
	return rl.Network(cfg)
}

func newPPO(t testing.TB, seed uint32, env string, cfg rl.PPOConfig, opts ...rl.Option) *rl.PPO {
	t.Helper()
	e, err := envs.Lookup(env)
	if err != nil {
		t.Fatal(err)
	}
	ppo, err := rl.NewPPO(t.Context(), engine.New(open(t), engine.Seed(seed)), e, cfg, append([]rl.Option{network()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return ppo
}

// overPPO is the default configuration with the search space that PPO's declares.
func overPPO() PBTConfig {
	cfg := DefaultPBT()
	var err error
	if cfg.Search, err = DefaultSearch(rl.DefaultPPO()); err != nil {
		panic(err)
	}
	return cfg
}

// kinds are the two ways to exchange.
var kinds = []struct {
	name string
	over func(t testing.TB, inner engine.Trainable, cfg PBTConfig) *PBT
}{
	{"pbt", func(t testing.TB, inner engine.Trainable, cfg PBTConfig) *PBT {
		return made(t)(NewPBT(t.Context(), inner, cfg))
	}},
	{"pbt-cso", func(t testing.TB, inner engine.Trainable, cfg PBTConfig) *PBT {
		return made(t)(NewPBTCSO(t.Context(), inner, cfg))
	}},
}

// made closes a PBT at the test's end.
func made(t testing.TB) func(*PBT, error) *PBT {
	return func(p *PBT, err error) *PBT {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		return p
	}
}

func initialized(t testing.TB, w engine.Workflow) {
	t.Helper()
	if err := w.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// run records and runs a program.
func run(t testing.TB, p *PBT, f func(*engine.Recorder)) {
	t.Helper()
	program, err := p.State().Engine().Record("test", f)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Free()
	if err := program.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// steps runs iterations from the given one to the one before last.
func steps(t testing.TB, w engine.Workflow, first, last int) {
	t.Helper()
	for i := first; i < last; i++ {
		ticket, err := w.Step(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if err := ticket.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// load puts a fresh workflow where the checkpoint of an iteration stands.
func load(t testing.TB, w engine.Workflow, dir string, iteration int) {
	t.Helper()
	c, err := checkpoint.Open(checkpoint.Path(dir, int64(iteration)))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.State().Load(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// resumes takes iterations of a workflow without and with an interruption after the third: both must end with the same bits. open
// returns a new workflow each time.
func resumes(t *testing.T, open func() engine.Workflow, iterations int) {
	t.Helper()
	const kept = 3
	whole, half, resumed, dir := open(), open(), open(), t.TempDir()
	initialized(t, whole)
	steps(t, whole, 0, iterations)
	want, err := whole.State().Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	initialized(t, half)
	steps(t, half, 0, kept)
	if _, err := half.State().Save(t.Context(), dir, kept); err != nil {
		t.Fatal(err)
	}
	if err := resumed.State().Poison(t.Context()); err != nil {
		t.Fatal(err)
	}
	load(t, resumed, dir, kept)
	steps(t, resumed, kept, iterations)
	if got, err := resumed.State().Digest(t.Context()); err != nil || got != want {
		t.Errorf("%s: the resumed run ends with %s, %v; want %s", whole.Describe().Workflow, got, err, want)
	}
}

// staysOnDevice takes eight iterations of a new workflow: each of the last five must be one submission that moves nothing over the bus.
func staysOnDevice(t *testing.T, w engine.Workflow) {
	t.Helper()
	initialized(t, w)
	steps(t, w, 0, 3)
	transfers(t, w, 3, 8, 5, 0)
}

// transfers runs iterations from the first to the one before last, with their programs recorded: they must take so many submissions, move nothing up and
// so many bytes down, and compile nothing.
func transfers(t *testing.T, w engine.Workflow, first, last int, submissions, down uint64) {
	t.Helper()
	before := open(t).Counters()
	steps(t, w, first, last)
	after := open(t).Counters()
	if n := after.Submissions - before.Submissions; n != submissions {
		t.Errorf("iterations %d to %d took %d submissions; want %d", first, last-1, n, submissions)
	}
	if up := after.BytesUp - before.BytesUp; up != 0 {
		t.Errorf("iterations %d to %d moved %d bytes up; want none", first, last-1, up)
	}
	if n := after.BytesDown - before.BytesDown; n != down {
		t.Errorf("iterations %d to %d moved %d bytes down; want %d", first, last-1, n, down)
	}
	if n := after.Pipelines - before.Pipelines; n != 0 {
		t.Errorf("iterations %d to %d compiled %d pipelines", first, last-1, n)
	}
}
