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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evorl/evorl/vk"
	"github.com/evorl/evorl/vk/spirv"
)

// childEnv makes the program a child process that compiles the pipelines on its standard input.
const childEnv = "EVORL_PIPELINES_CHILD"

// result is the result of compiling a pipeline.
type result struct {
	pipeline `json:"-"`
	target   target
	Stats    vk.PipelineStats
	Lacks    string // what the kernel needs and the device lacks; it was not compiled then
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
		r.Lacks, err = lacks(source.Shader, d.Info())
		if err == nil && r.Lacks == "" {
			r.Stats, err = d.Compile(source.Shader, source.Spec, source.Subgroup)
		}
		if err != nil {
			r.Error = err.Error()
		} else if r.Lacks == "" && r.Stats.Registers < 0 {
			r.Error = "the driver tells no registers: it is not RADV, or too old"
		}
		if err := encode.Encode(r); err != nil {
			return 1
		}
	}
}

// lacks returns what a kernel needs that only some generations of GPUs have, if a device lacks it, or "".
func lacks(s *vk.Shader, info vk.Info) (string, error) {
	m, err := spirv.Reflect(s.SPIRV())
	if err != nil {
		return "", err
	}
	if slices.Contains(m.Capabilities, "CooperativeMatrixKHR") && !info.Features.Has(vk.CooperativeMatrix) {
		return "no cooperative matrices", nil
	}
	return "", nil
}

// compileAll compiles pipelines for one target, in the given number of parallel processes.
func compileAll(ctx context.Context, all []pipeline, t target, icd string, parallel int) ([]result, error) {
	results := make([]result, len(all))
	jobs := make(chan int)
	var group sync.WaitGroup
	for range min(parallel, len(all)) {
		group.Go(func() {
			w := worker{ctx: ctx, target: t, icd: icd}
			defer w.stop()
			for i := range jobs {
				results[i] = w.compile(all[i])
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
	icd    string

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
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(w.ctx)
	w.cmd = exec.CommandContext(ctx, self)
	w.cmd.Env = append(os.Environ(), childEnv+"=1", "RADV_FORCE_FAMILY="+w.target.family,
		"VK_DRIVER_FILES="+w.icd, "VK_ICD_FILENAMES="+w.icd, // the second for loaders before 1.3.207
		"VK_INSTANCE_LAYERS=", "EVORL_PIPELINE_LOG=")
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
	return w.cmd.Start()
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
			w.cmd = nil
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
	ended := w.stop()
	if ended == nil {
		ended = err
	}
	said := strings.TrimSpace(w.log.String())
	return fmt.Errorf("the compiling process died (%w): %s", ended, said[max(0, len(said)-1000):])
}
