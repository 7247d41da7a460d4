package config_test

import (
	"fmt"
	"os"

	"github.com/evorl/evorl/engine/config"
)

// A part describes its keys by a struct, whose values are the defaults.
type ppoConfig struct {
	LearningRate float64 `above:"0" doc:"Step size of Adam."`
	Epochs       int     `min:"1" doc:"Passes over a batch."`
}

func Example() {
	text := []byte("[ppo]\nlearning_rate = 1e-3\n")
	doc, err := config.Parse("ppo.toml", text, config.Set("ppo.epochs=8"))
	if err != nil {
		fmt.Println(err)
		return
	}
	ppo := ppoConfig{LearningRate: 3e-4, Epochs: 4}
	sections := config.Sections{{Name: "ppo", Value: &ppo}}
	if err := doc.Decode(sections); err != nil {
		fmt.Println(err)
		return
	}
	if err := config.Encode(os.Stdout, sections, config.WithDocs()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [ppo]
	// # Step size of Adam. [above 0]
	// learning_rate = 0.001
	// # Passes over a batch. [at least 1]
	// epochs = 8
}

func ExampleError() {
	doc, err := config.Parse("ppo.toml", []byte("[ppo]\nlearning_rat = 1e-3\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(doc.Decode(config.Sections{{Name: "ppo", Value: &ppoConfig{}}}))
	// Output:
	// ppo.toml:2:1: unknown key "learning_rat" in [ppo]
	//   learning_rat = 1e-3
	//   ^^^^^^^^^^^^
	// did you mean "learning_rate"?
}
