#!/bin/sh
# Installs what evorl needs of the system and what is missing, by apt: setup.sh run for what building and running takes, setup.sh test
# for what the tests take besides. Where everything is there it does nothing.
set -eu

purpose=${1:-run}
packages=

# need PACKAGE TEST...: the package is missing unless the test succeeds.
need() {
	package=$1
	shift
	"$@" >/dev/null 2>&1 || packages="$packages $package"
}

has_loader() {
	[ -n "${EVORL_VULKAN_LOADER:-}" ] || /sbin/ldconfig -p | grep -q 'libvulkan\.so\.1'
}

has_driver() {
	[ -n "${VK_ICD_FILENAMES:-}${VK_DRIVER_FILES:-}" ] && return
	for folder in /usr/share /usr/local/share /etc "${XDG_DATA_HOME:-${HOME:-/root}/.local/share}"; do
		for file in "$folder"/vulkan/icd.d/*.json; do
			[ -e "$file" ] && return
		done
	done
	return 1
}

# The tests compute on the software driver, whatever GPU there is.
has_software_driver() {
	ls /usr/share/vulkan/icd.d/lvp_icd*.json
}

has_validation() {
	ls /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json
}

if ! command -v go >/dev/null; then
	echo "setup: Go is missing: install Go 1.26 or newer (go.dev/dl)" >&2
	exit 1
fi
need libvulkan1 has_loader
if [ "$purpose" = test ]; then
	need mesa-vulkan-drivers has_software_driver
	need vulkan-validationlayers has_validation
	need glslc command -v glslc
	need spirv-tools command -v spirv-val
else
	need mesa-vulkan-drivers has_driver
fi
need gcc command -v gcc
need libc6-dev [ -e /usr/include/stdlib.h ]
[ -n "$packages" ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "setup: missing (by the names that Debian has for them):$packages; install them and try again" >&2
	exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "setup: run as root: apt-get install$packages" >&2
		exit 1
	fi
	as_root=sudo
fi
echo "setup: installing$packages"
$as_root apt-get update -q
# shellcheck disable=SC2086 # a list of names
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $packages
