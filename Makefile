# make run     learn: population based training over PPO, on the first Vulkan device
# make test    everything that must hold, as CI runs it
# make build   bin/evorl
# make check   formatting, vet, and that generated files and SPIR-V are those of their sources
# Each installs what it lacks by apt where it can.

.PHONY: run test build check setup-run setup-test

run: build
	bin/evorl run --device 0 configs/pbt.toml

build: setup-run
	go build -o bin/evorl ./cmd/evorl

# Everything runs under the validation layers: core and synchronization validation over all tests, GPU-assisted validation (which
# instruments every shader, and takes minutes for an unrolled network) over the kernels that it can take in reasonable time. The second binding is
# tested where it makes a difference; everything above it is the same code.
test: check
	go run ./tools/validate -- -timeout 20m ./...
	go run ./tools/validate -gpu -- -timeout 20m ./engine ./engine/optim ./ec
	go run ./tools/validate -gpu -- -timeout 20m -run 'Gemm' ./engine/nn
	go test -timeout 20m -tags vulkango ./vk/... ./engine

check: setup-test
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go vet -tags vulkango ./...
	go run ./tools/mjcf -check
	go run ./tools/shaders -check

setup-run:
	@tools/setup.sh run

setup-test:
	@tools/setup.sh test
