# evorl in a container: docker build -t evorl . && docker run --rm evorl devices
# What a container needs to see a GPU is in docs/platforms.md; without one it computes on the processor.
FROM golang:1.26-bookworm AS build
WORKDIR /evorl
COPY . .
ARG VERSION=devel
RUN go build -trimpath -ldflags "-s -w -X github.com/evorl/evorl/engine/rundir.release=$VERSION" -o /evorl-program ./cmd/evorl

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends libvulkan1 mesa-vulkan-drivers glslc && rm -rf /var/lib/apt/lists/*
COPY --from=build /evorl-program /usr/local/bin/evorl
COPY configs /usr/share/evorl/configs
WORKDIR /data
ENTRYPOINT ["evorl"]
