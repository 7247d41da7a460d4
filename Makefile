# make run     learn: population based training over PPO, on the first Vulkan device
# make test    everything that must hold, as CI runs it
# make build   bin/evorl
# make validate, make validate-gpu   the tests under Vulkan's validation layer, in its two modes; parts of make test
# make swiftshader   kernels and every workflow on SwiftShader, a second software driver; part of make test
# make wide   kernels and every workflow on a software driver that poses as GPUs of several kinds; part of make test
# make vkango   the tests of Vulkan's second binding; part of make test
# make release   archives and Python wheels of all platforms (macOS by Zig) with checksums and bills of materials
# make site      the documentation as a site that can be read offline, site/index.html
# make check   formatting, vet, and that generated files, SPIR-V and the pages of docs/algorithms are those of their sources
# Each installs what it lacks by apt where it can.

.PHONY: run test build check release site validate validate-gpu swiftshader wide wide-driver wide-nvidia wide-gcn wide-rdna wide-intel vkango beside \
	setup-run setup-test

# Tests that need what a machine may not have are skipped by go test, and fail here; those of MuJoCo's own compiler only if MUJOCO_PYTHON
# names a Python, and those of numpy, Gymnasium and Stable-Baselines3 only if EVORL_BRIDGE_PYTHON does.
# Packages are tested on all processors as it is, so translating kernels on all would only take longer. Nobody debugs the tests' programs: without tables
# for that (-w) they are linked in little more than half of the time.
must = CI=1 EVORL_TRANSLATE_AHEAD=0 GOFLAGS="$$GOFLAGS -ldflags=-w"

run: build
	bin/evorl run --device 0 configs/pbt.toml

build: setup-run
	go build -buildvcs=auto -o bin/evorl ./cmd/evorl

# In stages, each with what it took.
stages = check validate beside
test:
	@for stage in $(stages); do begin=$$(date +%s); $(MAKE) --no-print-directory $$stage || exit 1; echo "make $$stage: $$(($$(date +%s) - begin)) s"; done

# Stages of one package at a time, most of which is a driver's compiling on one processor: as many at once as there are processors. What one prints comes
# when it has ended.
beside:
	@$(MAKE) --no-print-directory --output-sync=target -j$$(nproc) validate-gpu wide-gcn wide-nvidia wide-intel wide-rdna swiftshader vkango

# The second binding is tested where it makes a difference, and without the layer; everything above it is the same code.
# Fused updates have workgroups that wait for each other, here with threads of their own.
vkango: setup-test
	$(must) go test -timeout 40m -tags vulkango ./vk/... ./engine
	$(must) go test -timeout 40m -run 'TestFused$$' ./rl

# Tests compile thousands of kernels and run them for moments: Mesa's driver translates them without optimizing, and tests take a quarter to a half less
# time. Nor do threads of the driver compute: other packages' tests have the other processors, and waking threads took a tenth to a third of all time.
# The tests of make wide and make vkango have optimized kernels and threads.
unoptimized = GALLIVM_PERF=nopt LP_NUM_THREADS=0

# All tests, while the layer looks for wrong use of Vulkan and for missing barriers, of one package more at once than a small machine has processors: tests
# compile on one and wait at times. Go begins packages in the order given: those that take longest come first, so that none of them is left alone at the end.
# tools/pipelines takes the shim.
longest = ./rl ./envs ./engine/nn ./cmd . ./hybrid ./tools/pipelines ./ec/problem ./ec
shim_folder = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/evorl/shim
validate: setup-test
	@tools/mesa.sh shim "$(shim_folder)"
	$(must) $(unoptimized) go run ./tools/validate -- -p $$(($$(nproc) + 1)) -timeout 40m $(longest) ./...

# What runs kernels, while the layer looks for accesses behind the end of a buffer. It instruments them, and takes minutes to compile an
# unrolled network, so these are the tests that it can take in reasonable time. rl/internal/lane/policy_update is not among them: Debian 12's layer
# (1.3.239) turns its loops of one block into SPIR-V that is invalid. Nor are products by panels, which only software drivers choose: it takes minutes
# each to compile them, and does not know that buffers end with whole texels.
kernels = ReplayFrames|Gemm|Normalizer|Returns|Slices|Sampling|Mode|Noise|Ranking|GAE|Gradient|Patches|Choosing|Exchange|Lineage|Packing|VTrace
panels = GemmPanel|PatchesMemory|BranchGradients/.*/.*/gpu_false|Gemm/.*panel|ConvolutionGradients/(parameters|inputs|one_input|.*whole_steps)
validate-gpu: setup-test
	$(must) go run ./tools/validate -gpu -- -timeout 40m ./engine ./engine/optim
	$(must) go run ./tools/validate -gpu -- -timeout 40m -short -run '$(kernels)' -skip '$(panels)' ./engine/nn ./envs ./ec ./rl ./hybrid

# SwiftShader has subgroups of 4 and little more than what Vulkan guarantees, such as texel views of 65,536 elements: what passes here and on
# Mesa's driver holds for others. Rollouts run here in one step of every workflow; the tests of envs compile for too long. Go's cache of test
# results does not know the driver.
swiftshader_folder = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/evorl/swiftshader
swiftshader_driver = $(swiftshader_folder)/vk_swiftshader_icd.json
on_swiftshader = VK_DRIVER_FILES=$(swiftshader_driver) VK_ICD_FILENAMES=$(swiftshader_driver) $(must) go test -count=1 -timeout 40m
swiftshader: setup-test
	@tools/setup.sh swiftshader "$(swiftshader_folder)"
	$(on_swiftshader) ./engine ./engine/optim
	$(on_swiftshader) -short -run '$(kernels)' ./engine/nn ./ec ./rl ./hybrid
	$(on_swiftshader) -run 'TestBuild$$' .

# Forms that only GPUs choose, on Mesa's software driver with subgroups as wide as theirs (tools/mesa.sh). A workgroup's subgroups of 32 lanes
# run first to last, those of 64 last to first. Tests whose name has GPU fail if the device does not choose the form that they name.
wide_folder = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/evorl/wide
as = tools/mesa.sh as $(1) "$(wide_folder)" env $(must) go test -count=1 -timeout 40m
wide: wide-nvidia wide-gcn wide-rdna wide-intel
wide-driver: setup-test
	@tools/mesa.sh wide "$(wide_folder)"
wide-nvidia: wide-driver
	$(call as,nvidia) ./engine ./engine/optim
	$(call as,nvidia) -short -run '$(kernels)|GPU' ./engine/nn ./ec ./hybrid
	$(call as,nvidia) -run 'GPU|Packing' ./envs
wide-gcn: wide-driver
	$(call as,gcn-reversed) ./engine ./engine/optim
	$(call as,gcn-reversed) -short -run '$(kernels)|GPU' ./rl
	$(call as,gcn-reversed) -run 'TestBuild$$' .
wide-rdna: wide-driver
	$(call as,rdna) -run GPU ./envs
wide-intel: wide-driver
	$(call as,intel) -run 'GPU|RolloutNetworks' ./envs

check: setup-test
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go vet -tags vulkango ./...
	go tool staticcheck ./...
	go run ./tools/mjcf -check
	go run ./tools/shaders -check
	go test ./tools/algorithms

release:
	@tools/setup.sh release
	go run ./tools/release

site:
	@tools/setup.sh site
	go run ./tools/site

setup-run:
	@tools/setup.sh run

setup-test:
	@tools/setup.sh test
