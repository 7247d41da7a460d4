package vk

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// PipelineSource holds the inputs from which a pipeline is compiled.
type PipelineSource struct {
	Shader *Shader
	Spec   []uint32 // in the order of Shader.Spec; nil: the defaults
	// Subgroup is the subgroup size that the pipeline requires, 0 for any.
	Subgroup uint32
	// DeviceSubgroup is the subgroup size of the device. Constants that follow the device were set from it.
	DeviceSubgroup uint32
}

// PipelineLog writes the source of every compiled pipeline to a folder, one JSON file each, for tools that compile the same
// pipelines on other devices. [ReadPipelineLog] reads it. Several processes may share the folder. The default is the
// environment variable EVORL_PIPELINE_LOG, else off.
func PipelineLog(dir string) Option { return func(c *config) { c.pipelineLog = dir } }

// ReadPipelineLog returns the pipelines logged to a folder by [PipelineLog], sorted by kernel.
func ReadPipelineLog(dir string) ([]PipelineSource, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("vk: pipeline log %s: %w", dir, err)
	}
	all := make([]PipelineSource, len(files))
	for i, file := range files {
		raw, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(raw, &all[i])
		}
		if err == nil && all[i].Shader == nil {
			err = errors.New("it has no Shader")
		}
		if err != nil {
			return nil, fmt.Errorf("vk: pipeline log %s: %w", file, err)
		}
	}
	return all, nil
}

// logPipeline writes p's source. A failed write is an error, since tools would miss the pipeline without notice.
func (d *Device) logPipeline(p *pipeline) error {
	dir := d.cfg.pipelineLog
	if dir == "" {
		return nil
	}
	s := p.module.shader
	raw, err := json.Marshal(PipelineSource{Shader: s, Spec: p.spec, Subgroup: p.subgroup, DeviceSubgroup: d.phys.info.SubgroupSize})
	if err != nil {
		return fmt.Errorf("vk: pipeline log: kernel %s: %w", s.Name, err)
	}
	file := filepath.Join(dir, fmt.Sprintf("%s-%x.json", fileName(s.Name), sha256.Sum256(raw)))
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, raw) {
		return nil
	}
	if err := writeBeside(file, raw); err != nil {
		return fmt.Errorf("vk: pipeline log: kernel %s: %w", s.Name, err)
	}
	return nil
}

// fileName makes a kernel's name valid on every file system.
func fileName(name string) string {
	name = strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf && (c == '.' || c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z') {
			return c
		}
		return '_'
	}, name)
	return name[:min(len(name), 80)]
}
