#!/bin/sh
# Drivers that the tests need and no distribution has, from the source package of Debian's Mesa:
#
#   mesa.sh wide FOLDER                 puts into FOLDER a lavapipe with subgroups of up to 64 lanes that can pose as a GPU
#                                       (mesa/wide.patch), in some four minutes of processor time; where it is there, does nothing
#   mesa.sh shim FOLDER                 puts into FOLDER a library under which Intel's driver runs without a GPU: it compiles, and
#                                       computes nothing (tools/pipelines); in a minute or two of processor time, likewise once
#   mesa.sh fast FOLDER                 puts into FOLDER a lavapipe whose threads wait for work without sleeping, that fuses products and sums
#                                       and stores vectors (mesa/fast.patch): what docs/drivers.md measures; evorl needs it nowhere
#   mesa.sh as KIND FOLDER COMMAND...   runs a command with only that driver, as a kind of GPU
#
#   nvidia   subgroups of 32 lanes
#   gcn      AMD's GPUs with subgroups of 64
#   rdna     AMD's GPUs with subgroups of 64 that also have 32: workgroups of 512 hold a network
#   intel    subgroups of 8 to 32; kernels that require no size read 32 and run in 8, as Intel's compiler may choose
#
# A kind that ends in -reversed runs the subgroups of a workgroup last to first; the others first to last.
# Everything is built in a temporary folder. Packages that the build needs are installed by apt (setup.sh mesa).
set -eu

version=22.3.6 # the patches'; Debian 12 has it
here=$(cd "$(dirname "$0")" && pwd)

fail() {
	echo "mesa: $*" >&2
	exit 1
}

# source_of_mesa FOLDER PATCH: unpacks the source package into FOLDER/mesa and applies tools/mesa/PATCH.patch. The lists of source packages are the folder's own: the
# machine's sources.list need not name any.
source_of_mesa() {
	mkdir -p "$1/apt/parts" "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ ! -e "$file" ] || sed -n 's/^deb\( .*debian\)/deb-src\1/p' "$file" >"$1/apt/parts/$(basename "$file" .list).list"
	done
	for file in /etc/apt/sources.list.d/*.sources; do
		! grep -qs '^URIs:.*debian' "$file" || sed 's/^Types:.*/Types: deb-src/' "$file" >"$1/apt/parts/$(basename "$file")"
	done
	options="-q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$1/apt/parts -o Dir::State::lists=$1/apt/lists -o Dir::Cache=$1/apt/cache"
	options="$options -o APT::Sandbox::User=$(id -un)"
	# shellcheck disable=SC2086 # a list of options
	(
		cd "$1"
		apt-get $options update >apt.log 2>&1 || { cat apt.log >&2 && fail "no lists of source packages: apt-get update failed"; }
		found=$(apt-get $options source --print-uris mesa 2>/dev/null | sed -n 's/.* \(mesa_[^ ]*\)\.dsc .*/\1/p')
		case $found in
		mesa_"$version"-*) ;;
		*) fail "tools/mesa/$2.patch is for Mesa $version of Debian 12; this system has the source package ${found:-of no Mesa}" ;;
		esac
		apt-get $options source mesa >apt.log 2>&1 || { cat apt.log >&2 && fail "apt-get source mesa failed"; }
		mv "mesa-$version" mesa
		patch -s -p1 -d mesa <"$here/mesa/$2.patch" || fail "tools/mesa/$2.patch does not apply to $found"
	)
}

# build FOLDER TARGET OPTION...: builds a target of FOLDER/mesa in FOLDER/build, without what none of our drivers needs.
build() {
	folder=$1 target=$2
	shift 2
	# Debian's Python has the module mako, others in the path may not. Without a choice, or with CMake, Meson may find another LLVM.
	printf "[binaries]\nllvm-config = '/usr/bin/llvm-config-15'\ncmake = '/nonexistent'\n" >"$folder/native.ini"
	if ! (
		export PATH=/usr/bin:/bin:/usr/sbin:/sbin
		meson setup "$folder/build" "$folder/mesa" --native-file "$folder/native.ini" -Dbuildtype=release -Dplatforms= \
			-Dglx=disabled -Degl=disabled -Dgbm=disabled -Dopengl=false -Dgles1=disabled -Dgles2=disabled -Dglvnd=false -Ddri3=disabled \
			-Dgallium-xa=disabled -Dgallium-vdpau=disabled -Dgallium-va=disabled -Dvalgrind=disabled -Dlibunwind=disabled \
			-Dlmsensors=disabled -Dbuild-tests=false "$@" && ninja -C "$folder/build" "$target"
	) >"$folder/build.log" 2>&1; then
		tail -n 40 "$folder/build.log" >&2
		fail "building $target failed"
	fi
}

# lavapipe PATCH FOLDER: the driver is complete where its manifest is, which comes last, and that of this patch where the patch's digest is the same.
lavapipe() {
	digest=$(sha256sum <"$here/mesa/$1.patch")
	[ -e "$2/$1_icd.json" ] && [ "$(cat "$2/digest" 2>/dev/null)" = "$digest" ] && return
	"$here/setup.sh" mesa
	echo "mesa: building lavapipe with $1.patch in $2, once: some minutes"
	temporary=$(mktemp -d)
	trap 'rm -rf "$temporary"' EXIT
	source_of_mesa "$temporary" "$1"
	library=src/gallium/targets/lavapipe/libvulkan_lvp.so
	build "$temporary" $library -Dgallium-drivers=swrast -Dvulkan-drivers=swrast -Dllvm=enabled -Dshared-llvm=enabled
	mkdir -p "$2"
	rm -rf "$2/$1_icd.json" "$2/shaders" # those of an earlier patch
	cp "$temporary/build/$library" "$2"
	echo "$digest" >"$2/digest"
	echo '{"file_format_version": "1.0.0", "ICD": {"library_path": "./libvulkan_lvp.so", "api_version": "1.3.230"}}' >"$temporary/$1_icd.json"
	mv "$temporary/$1_icd.json" "$2"
}

# shim FOLDER: the library is complete where it is. The driver that it serves is the system's.
shim() {
	name=libintel_noop_drm_shim.so
	[ -e "$1/$name" ] && return
	"$here/setup.sh" mesa
	echo "mesa: building $name in $1, once: some minutes"
	temporary=$(mktemp -d)
	trap 'rm -rf "$temporary"' EXIT
	source_of_mesa "$temporary" wide
	build "$temporary" src/intel/tools/$name -Dgallium-drivers= -Dvulkan-drivers=intel,freedreno -Dtools=drm-shim,intel -Dllvm=disabled
	mkdir -p "$1"
	cp "$temporary/build/src/intel/tools/$name" "$1/$name.new"
	mv "$1/$name.new" "$1/$name"
}

# pose KIND FOLDER: sets what the driver reports. Mesa's cache does not know of it, so each kind has its own.
pose() {
	[ -e "$2/wide_icd.json" ] || fail "no driver in $2: mesa.sh wide $2"
	driver=$(cd "$2" && pwd)
	export VK_DRIVER_FILES="$driver/wide_icd.json" VK_ICD_FILENAMES="$driver/wide_icd.json" MESA_SHADER_CACHE_DIR="$driver/shaders/$1"
	export LVP_DEVICE_TYPE=2 LP_LOOP_LIMIT=2147483647
	case ${1%-reversed} in
	nvidia) export LVP_VENDOR=0x10de LP_NATIVE_VECTOR_WIDTH=1024 LVP_MIN_SUBGROUP=32 ;;
	gcn) export LVP_VENDOR=0x1002 LP_NATIVE_VECTOR_WIDTH=2048 LVP_MIN_SUBGROUP=64 ;;
	rdna) export LVP_VENDOR=0x1002 LP_NATIVE_VECTOR_WIDTH=2048 LVP_MIN_SUBGROUP=32 ;;
	intel) export LVP_VENDOR=0x8086 LP_NATIVE_VECTOR_WIDTH=1024 LVP_MIN_SUBGROUP=8 LP_LOOSE_LANES=8 ;;
	*) fail "no kind of GPU \"$1\"; want nvidia, gcn, rdna or intel, each also with -reversed" ;;
	esac
	case $1 in *-reversed) export LP_REVERSE_SUBGROUPS=1 ;; esac
	mkdir -p "$MESA_SHADER_CACHE_DIR"
}

case ${1:-} in
wide | fast)
	lavapipe "$1" "${2:?mesa: name the folder: mesa.sh $1 FOLDER}"
	;;
shim)
	shim "${2:?mesa: name the folder: mesa.sh shim FOLDER}"
	;;
as)
	[ $# -gt 3 ] || fail "want mesa.sh as KIND FOLDER COMMAND..."
	pose "$2" "$3"
	shift 3
	exec "$@"
	;;
*) fail "want mesa.sh wide FOLDER, mesa.sh fast FOLDER, mesa.sh shim FOLDER, or mesa.sh as KIND FOLDER COMMAND..." ;;
esac
