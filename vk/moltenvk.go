package vk

import "os"

// prepareMoltenVK makes MoltenVK compile kernels with exact floating-point arithmetic, unless the user has set the variable. By default it asks Metal for fast
// mathematics, which assumes that no number is NaN or infinite (MoltenVK, "Configuration Parameters"); MoltenVK reads the variable with the first instance.
func prepareMoltenVK(system string) {
	const variable = "MVK_CONFIG_FAST_MATH_ENABLED"
	if _, set := os.LookupEnv(variable); system == "darwin" && !set {
		_ = os.Setenv(variable, "0") // the name is valid
	}
}
