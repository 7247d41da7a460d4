package vk

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Option changes how [Devices] and [Open] work.
type Option func(*config)

type config struct {
	index       int
	indexed     bool // an index was chosen
	name        string
	logger      *slog.Logger
	cacheDir    string
	cacheSet    bool
	budget      time.Duration // 0: by device type
	timeout     time.Duration // 0: by device type
	validate    int
	loader      string
	maxAPI      uint32
	reshape     func(*physical) // makes the device look like another kind, for tests
	arenaSize   uint64          // 0: by heap size
	exact       bool            // see ExactBuffers
	poison      bool            // see PoisonMemory
	pipelineLog string          // folder; "": off
}

// Index chooses the device with this index in the list of [Devices]. Without Index and Name the environment variable EVORL_DEVICE chooses, which
// is an index or a part of a name, else the first GPU is taken, else the software driver.
func Index(n int) Option { return func(c *config) { c.index, c.indexed, c.name = n, true, "" } }

// Name chooses the first device whose name contains part, in any case.
func Name(part string) Option { return func(c *config) { c.indexed, c.name = false, part } }

// Logger receives validation messages and warnings. The default is silent.
func Logger(l *slog.Logger) Option {
	return func(c *config) {
		if l != nil {
			c.logger = l
		}
	}
}

// CacheDir is the folder of the pipeline cache. The default is "evorl" in [os.UserCacheDir]; "" turns the cache on disk off.
func CacheDir(dir string) Option { return func(c *config) { c.cacheDir, c.cacheSet = dir, true } }

// SliceBudget is the longest time that one submission should take: longer programs are split.
// The default is 50 ms on GPUs, whose watchdogs and desktops mind, and 1 s on software drivers.
func SliceBudget(d time.Duration) Option { return func(c *config) { c.budget = d } }

// Timeout is how long a wait lasts without any submission finishing before it becomes [ErrTimeout].
// The default is 2 minutes on GPUs and 30 minutes on software drivers, which compile at the first dispatch.
func Timeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

// Validate turns the Khronos validation layer on, core and synchronization checks, when it is
// installed; its messages go to the logger and to [Device.ValidationErrors].
func Validate(on bool) Option {
	return func(c *config) { c.validate = validationMode(on, validateSync) }
}

// ValidateShaders turns the layer on with GPU-assisted checks in place of synchronization checks: kernels that reach behind the end
// of a buffer. The layer sees the end of a [Buffer], not that of a [Range]. It implies [ExactBuffers].
func ValidateShaders(on bool) Option {
	return func(c *config) { c.validate, c.exact = validationMode(on, validateGPU), c.exact || on }
}

// ExactBuffers has buffers end where their bytes end, those of less than 16 bytes excepted, and kernels load from storage buffers, not
// by whole texels: so that validation sees a kernel that reaches one element behind the end. The default is off, or on
// where the environment variable EVORL_EXACT_BUFFERS is not empty.
func ExactBuffers(on bool) Option { return func(c *config) { c.exact = on } }

// PoisonMemory fills new buffers with a NaN, so that tests see a kernel that reads what nobody wrote; else they hold what the
// memory held before, often zeros. The default is off, or on where the environment variable EVORL_POISON_MEMORY is not empty.
func PoisonMemory(on bool) Option { return func(c *config) { c.poison = on } }

// Loader names the Vulkan loader library. The default is the environment variable EVORL_VULKAN_LOADER, else libvulkan.so.1.
// A process uses one loader.
func Loader(library string) Option { return func(c *config) { c.loader = library } }

func validationMode(on bool, mode int) int {
	if on {
		return mode
	}
	return validateOff
}

func newConfig(opts []Option) *config {
	c := &config{logger: slog.New(slog.DiscardHandler), maxAPI: uint32(MakeVersion(1, 3, 0)),
		loader: os.Getenv("EVORL_VULKAN_LOADER"), pipelineLog: os.Getenv("EVORL_PIPELINE_LOG"),
		exact: os.Getenv("EVORL_EXACT_BUFFERS") != "", poison: os.Getenv("EVORL_POISON_MEMORY") != ""}
	if device := os.Getenv("EVORL_DEVICE"); device != "" {
		if n, err := strconv.Atoi(device); err == nil {
			Index(n)(c)
		} else {
			Name(device)(c)
		}
	}
	for _, o := range opts {
		o(c)
	}
	if c.loader == "" {
		c.loader = defaultLoader
	}
	if !c.cacheSet {
		// Without a home (a container, a daemon) there is nowhere to keep a cache: that is no fault.
		if dir, err := os.UserCacheDir(); err == nil {
			c.cacheDir = filepath.Join(dir, "evorl")
		}
	}
	return c
}
