package evorl_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/evorl/evorl"
	"github.com/evorl/evorl/ec"
	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/rl"
	"github.com/evorl/evorl/vk"
)

// A configuration of Go values runs in a run directory; its newest checkpoint is then evaluated in new episodes.
func Example() {
	mean, err := train(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the best agent balances for at least 195 of 500 steps:", mean >= 195)
	// Output: the best agent balances for at least 195 of 500 steps: true
}

func train(ctx context.Context) (best float64, err error) {
	dev, err := vk.Open() // the first GPU, or else the software driver
	if err != nil {
		return 0, err
	}
	defer dev.Close()
	ppo := rl.DefaultPPO()
	ppo.Members, ppo.LearningRate = 8, 2.5e-3
	cfg, err := evorl.New("ppo", "CartPole-v1", evorl.With(ppo), evorl.Set("iterations=30"), evorl.Set("seed=7"))
	if err != nil {
		return 0, err
	}
	folder, err := os.MkdirTemp("", "evorl-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	run, err := evorl.Start(ctx, dev, cfg, filepath.Join(folder, "run"))
	if err != nil {
		return 0, err
	}
	defer run.Close()
	if err := run.Learn(ctx); err != nil {
		return 0, err
	}
	trained, err := evorl.Restore(ctx, dev, cfg, run.Path(), 1)
	if err != nil {
		return 0, err
	}
	defer trained.Close()
	evaluation, err := trained.Evaluate(ctx, 20, nil) // new episodes of each agent
	return float64(evaluation.BestReturn), err
}

// Mistakes are found before any device work, with a message that says what would be right.
func ExampleParse() {
	_, err := evorl.Parse("cartpole.toml", []byte("workflow = \"ppo\"\nenv = \"CartPol\"\n"))
	fmt.Println(err)
	// Output:
	// cartpole.toml:2:7: unknown environment "CartPol"
	//   env = "CartPol"
	//         ^^^^^^^^^
	// did you mean "CartPole-v1"?
}

// A program can drive the workflow of a configuration itself, without a run directory.
func ExampleConfig_Build() {
	ctx := context.Background()
	es := ec.DefaultOpenES()
	es.LearningRate, es.NoiseStd = 0.05, 0.1
	cfg, err := evorl.New("openes", "CartPole-v1", evorl.With(es))
	if err != nil {
		log.Fatal(err)
	}
	dev, err := vk.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	search, err := cfg.Build(ctx, engine.New(dev, engine.Seed(3)))
	if err != nil {
		log.Fatal(err)
	}
	defer search.Close()
	if err := engine.Learn(ctx, search, engine.Iterations(40)); err != nil {
		log.Fatal(err)
	}
	evaluation, err := search.Evaluate(ctx, cfg.Evaluation.Episodes)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("balances for 475 of 500 steps:", evaluation.Means()[0] >= 475)
	// Output: balances for 475 of 500 steps: true
}
