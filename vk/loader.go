package vk

import "runtime"

// loaderNames are the names of the Vulkan loader; the first that can be loaded is used. Homebrew's folder is not among those that macOS searches.
func loaderNames(system string) []string {
	switch system {
	case "windows":
		return []string{"vulkan-1.dll"}
	case "darwin":
		return []string{"libvulkan.1.dylib", "/opt/homebrew/lib/libvulkan.1.dylib", "/usr/local/lib/libvulkan.1.dylib"}
	}
	return []string{"libvulkan.so.1"}
}

// installAdvice says how to get a loader and a driver.
func installAdvice(system string) string {
	switch system {
	case "windows":
		return "install the graphics card's driver, which has the Vulkan loader"
	case "darwin":
		return "install the Vulkan loader and MoltenVK (brew install vulkan-loader molten-vk)"
	}
	return "install the Vulkan loader and a driver " +
		"(Debian, Ubuntu: apt install libvulkan1 mesa-vulkan-drivers; on NVIDIA the vendor's driver holds one)"
}

var advice = installAdvice(runtime.GOOS)
