#!/bin/sh
# Installs what evorl needs of the system and what is missing, by apt: setup.sh run for what building and running takes, setup.sh test
# for what the tests take besides, setup.sh mesa for what building the drivers of mesa.sh takes, setup.sh release for what releases take,
# setup.sh site for what the documentation takes. Where everything is there it does nothing. setup.sh swiftshader FOLDER puts the
# SwiftShader driver of Debian's Chromium into FOLDER, and installs nothing.
set -eu

purpose=${1:-run}
packages=

# as_root COMMAND...: runs a command as root.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		echo "setup: run as root: $*" >&2
		exit 1
	fi
}

# swiftshader FOLDER: the driver is complete where its manifest is, which comes last.
swiftshader() {
	[ -e "$1/vk_swiftshader_icd.json" ] && return
	echo "setup: unpacking SwiftShader from Debian's package chromium-common into $1"
	temporary=$(mktemp -d)
	trap 'rm -rf "$temporary"' EXIT
	if ! (cd "$temporary" && { apt-get download -q chromium-common || { as_root apt-get update -q && apt-get download -q chromium-common; }; } &&
		dpkg -x chromium-common_*.deb .); then
		echo "setup: no SwiftShader: apt-get download chromium-common failed" >&2
		exit 1
	fi
	mkdir -p "$1"
	mv "$temporary/usr/lib/chromium/libvk_swiftshader.so" "$1"
	mv "$temporary/usr/lib/chromium/vk_swiftshader_icd.json" "$1"
}

if [ "$purpose" = swiftshader ]; then
	swiftshader "${2:?setup: name the folder: setup.sh swiftshader FOLDER}"
	exit 0
fi

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
if [ "$purpose" = release ]; then
	need gcc-aarch64-linux-gnu command -v aarch64-linux-gnu-gcc
	need libc6-dev-arm64-cross [ -e /usr/aarch64-linux-gnu/include/stdlib.h ]
	need gcc-mingw-w64-x86-64 command -v x86_64-w64-mingw32-gcc
	need python3-venv python3 -c "import ensurepip"
elif [ "$purpose" = site ]; then
	need python3-venv python3 -c "import ensurepip"
elif [ "$purpose" = mesa ]; then
	need meson command -v meson
	need python3-mako /usr/bin/python3 -c "import mako"
	need bison command -v bison
	need flex command -v flex
	need g++ command -v g++
	need patch command -v patch
	need dpkg-dev command -v dpkg-source
	need pkg-config command -v pkg-config
	need llvm-15-dev [ -e /usr/bin/llvm-config-15 ]
	need glslang-tools command -v glslangValidator
	need libdrm-dev [ -e /usr/include/xf86drm.h ]
	need libelf-dev [ -e /usr/include/libelf.h ]
	need libexpat1-dev [ -e /usr/include/expat.h ]
	need zlib1g-dev [ -e /usr/include/zlib.h ]
	need libzstd-dev [ -e /usr/include/zstd.h ]
elif [ "$purpose" = test ]; then
	need mesa-vulkan-drivers has_software_driver
	need vulkan-validationlayers has_validation
	need glslc command -v glslc
	need spirv-tools command -v spirv-val
	need python3 command -v python3
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
echo "setup: installing$packages"
as_root apt-get update -q
# shellcheck disable=SC2086 # a list of names
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $packages
