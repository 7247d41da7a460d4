# evorl in a container: docker build -t evorl --build-arg VERSION=$(git describe --tags --always --dirty) . && docker run --rm evorl devices
# What a container needs to see a GPU is in docs/platforms.md; without one it computes on the processor.
FROM golang:1.26-bookworm AS build
WORKDIR /evorl
# Modules are a layer of their own, which changes of the sources leave as it is.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The repository's history is not in the context, so the revision is an argument.
ARG VERSION=devel
RUN go build -trimpath -ldflags "-s -w -X github.com/evorl/evorl/engine/rundir.release=$VERSION" -o /evorl-program ./cmd/evorl

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends libvulkan1 mesa-vulkan-drivers glslc && rm -rf /var/lib/apt/lists/* && \
    useradd --uid 1000 --create-home evorl && install -d -o evorl -g evorl /data
COPY --from=build /evorl-program /usr/local/bin/evorl
COPY configs /usr/share/evorl/configs
USER evorl
WORKDIR /data
ENTRYPOINT ["evorl"]
