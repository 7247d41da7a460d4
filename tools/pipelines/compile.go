package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/evorl/evorl/vk"
)

// childEnv makes the program a child process that describes its device and then compiles the pipelines on its standard input.
const childEnv = "EVORL_PIPELINES_CHILD"

// result is the result of compiling a pipeline.
type result struct {
	pipeline `json:"-"`
	target   target
	Stats    vk.PipelineStats
	Error    string // "" if it compiled
}

// longest is the time limit for compiling one pipeline.
const longest = 15 * time.Minute // Humanoid takes RADV one or two on a quiet machine

// child compiles pipelines one after the other: one JSON value in, one JSON value out.
func child(in io.Reader, out io.Writer) int {
	d, err := vk.Open(vk.CacheDir(""))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer d.Close()
	decode, encode := json.NewDecoder(in), json.NewEncoder(out)
	if err := encode.Encode(described(d.Info())); err != nil {
		return 1
	}
	for {
		var source vk.PipelineSource
		if err := decode.Decode(&source); err != nil {
			if errors.Is(err, io.EOF) {
				return 0
			}
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		var r result
		if r.Stats, err = d.Compile(source.Shader, source.Spec, source.Subgroup); err != nil {
			r.Error = err.Error()
		} else if r.Stats.Spills < 0 {
			r.Error = "the driver tells no spills: it is neither RADV nor ANV, or too old"
		}
		if err := encode.Encode(r); err != nil {
			return 1
		}
	}
}

// description is a device's Info whose numbers stay numbers in JSON.
type description struct {
	vk.Info
	Type     uint32
	Features uint32
}

func described(info vk.Info) description {
	return description{info, uint32(info.Type), uint32(info.Features)}
}

func (d description) info() vk.Info {
	d.Info.Type, d.Info.Features = vk.DeviceType(d.Type), vk.Features(d.Features)
	return d.Info
}

// info asks a target's driver for its device, with the target's subgroup size.
func (t target) info(ctx context.Context) (vk.Info, error) {
	w := worker{ctx: ctx, target: t}
	if err := w.start(); err != nil {
		return vk.Info{}, fmt.Errorf("%v: %w", t, err)
	}
	info := w.info
	w.stop()
	if t.width < info.MinSubgroupSize || t.width > info.MaxSubgroupSize {
		return info, fmt.Errorf("%v: the device has subgroups of %d to %d lanes", t, info.MinSubgroupSize, info.MaxSubgroupSize)
	}
	info.SubgroupSize = t.width
	return info, nil
}

// compileAll compiles pipelines for one target, in the given number of parallel processes. done is told of each, from several goroutines.
func compileAll(ctx context.Context, all []pipeline, t target, parallel int, done func(result)) ([]result, error) {
	results := make([]result, len(all))
	jobs := make(chan int)
	var group sync.WaitGroup
	for range min(parallel, len(all)) {
		group.Go(func() {
			w := worker{ctx: ctx, target: t}
			defer w.stop()
			for i := range jobs {
				results[i] = w.compile(all[i])
				done(results[i])
			}
		})
	}
	for i := range all {
		jobs <- i
	}
	close(jobs)
	group.Wait()
	return results, ctx.Err()
}

// worker owns a child process, and starts a new one when it dies.
type worker struct {
	ctx    context.Context
	target target
	info   vk.Info // of the child's device

	cmd    *exec.Cmd
	cancel context.CancelFunc
	in     io.WriteCloser
	out    *json.Decoder
	log    bytes.Buffer
}

func (w *worker) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	env, err := w.target.environment()
	if err != nil {
		return err
	}
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(w.ctx)
	w.cmd = exec.CommandContext(ctx, self)
	w.cmd.Env = append(env, childEnv+"=1")
	w.log.Reset()
	w.cmd.Stderr = &w.log
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	w.out = json.NewDecoder(out)
	if err := w.cmd.Start(); err != nil {
		w.cmd = nil
		return err
	}
	var d description
	if err := w.out.Decode(&d); err != nil {
		return w.died(err)
	}
	w.info = d.info()
	return nil
}

// stop ends the child and returns how it ended.
func (w *worker) stop() error {
	if w.cmd == nil {
		return nil
	}
	w.in.Close()
	err := w.cmd.Wait()
	w.cancel()
	w.cmd = nil
	return err
}

func (w *worker) compile(p pipeline) result {
	r := result{}
	err := w.ask(p, &r)
	r.pipeline, r.target = p, w.target
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// ask lets the child compile p. If the child dies, the pipeline has failed.
func (w *worker) ask(p pipeline, r *result) error {
	if w.cmd == nil {
		if err := w.start(); err != nil {
			return fmt.Errorf("starting a child process: %w", err)
		}
	}
	late := time.AfterFunc(longest, w.cancel)
	defer late.Stop()
	err := json.NewEncoder(w.in).Encode(p.PipelineSource)
	if err == nil {
		err = w.out.Decode(r)
	}
	if err == nil {
		return nil
	}
	return w.died(err)
}

// died ends a child that gave no answer and returns what it said.
func (w *worker) died(err error) error {
	ended := w.stop()
	if ended == nil {
		ended = err
	}
	said := strings.TrimSpace(w.log.String())
	return fmt.Errorf("the compiling process died (%w): %s", ended, said[:min(len(said), 1000)])
}
