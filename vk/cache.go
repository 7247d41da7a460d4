package vk

// #include <stdlib.h>
import "C"

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"
)

// diskCache stores the driver's pipeline caches, one file per SPIR-V module, in a folder per device, driver version and subgroup size. Data of
// an older kernel or driver are therefore never loaded. A file is a magic word, the SHA-256 of the data, and the data.
type diskCache struct {
	dir string // "": off
}

const cacheMagic = "evorlvk1"

// emptyCache is the size of a driver cache without entries: its header.
const emptyCache = 32

func (c *diskCache) open(d *Device) {
	if d.cfg.cacheDir == "" {
		return
	}
	info := &d.phys.info
	c.dir = filepath.Join(d.cfg.cacheDir, "pipelines", fmt.Sprintf("%x-%x-%04x%04x-%d",
		info.PipelineCacheUUID, info.DriverVersion, info.VendorID, info.DeviceID, info.SubgroupSize))
}

func (c *diskCache) file(m *module) string { return filepath.Join(c.dir, fmt.Sprintf("%x", m.digest)) }

// load creates the module's cache from its file. A missing, damaged or foreign file gives an empty cache.
func (c *diskCache) load(d *Device, m *module) error {
	var data []byte
	if c.dir != "" {
		data = readCache(c.file(m))
		m.kept = digestOf(data)
	}
	create := func(data []byte) Result {
		info := vkPipelineCacheCreateInfo{SType: structureTypePipelineCacheCreateInfo}
		if len(data) > 0 {
			p := C.CBytes(data)
			defer C.free(p)
			info.InitialDataSize, info.PInitialData = vkCount(len(data)), p
		}
		r := create(&m.cache, func(h *vkPipelineCache) vkResult { return vkCreatePipelineCache(d.handle, &info, nil, h) })
		info.Free()
		return r
	}
	r := create(data)
	if r != resultSuccess && data != nil {
		r = create(nil)
	}
	if r != resultSuccess {
		return fmt.Errorf("kernel %s: %w", m.shader.Name, d.fail("vkCreatePipelineCache", r))
	}
	return nil
}

func readCache(file string) []byte {
	raw, err := os.ReadFile(file)
	const header = len(cacheMagic) + sha256.Size
	if err != nil || len(raw) < header || string(raw[:len(cacheMagic)]) != cacheMagic {
		return nil
	}
	if !bytes.Equal(raw[len(cacheMagic):header], digestOf(raw[header:])) {
		return nil
	}
	return raw[header:]
}

func digestOf(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:]
}

// keep writes the changed caches. The cache is only an optimisation: the first failed write is logged and turns it off.
func (c *diskCache) keep(d *Device) {
	d.pipes.Lock()
	defer d.pipes.Unlock()
	if c.dir == "" {
		return
	}
	for _, m := range d.pipes.modules {
		if !m.dirty {
			continue
		}
		m.dirty = false
		data := cacheData(d, m.cache)
		sum := digestOf(data)
		if len(data) <= emptyCache || bytes.Equal(sum, m.kept) {
			continue
		}
		if err := writeCache(c.file(m), sum, data); err != nil {
			d.cfg.logger.Warn("pipeline cache is off", "error", err)
			c.dir = ""
			return
		}
		m.kept = sum
	}
}

func cacheData(d *Device, cache vkPipelineCache) []byte {
	var n vkCount
	if Result(vkGetPipelineCacheData(d.handle, cache, &n, nil)) != resultSuccess || n == 0 {
		return nil
	}
	p := C.malloc(C.size_t(n))
	defer C.free(p)
	if Result(vkGetPipelineCacheData(d.handle, cache, &n, p)) != resultSuccess {
		return nil
	}
	return bytes.Clone(unsafe.Slice((*byte)(p), int(n)))
}

func writeCache(file string, sum, data []byte) error {
	return writeBeside(file, append(append([]byte(cacheMagic), sum...), data...))
}

// writeBeside writes a temporary file and renames it, so that another process never reads a partial file. It creates the folder.
func writeBeside(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
