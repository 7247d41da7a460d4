package vk

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// Option configures [Devices] and [Open].
type Option func(*config)

type config struct {
	index     int
	indexed   bool // Index was given
	name      string
	logger    *slog.Logger
	cacheDir  string
	cacheSet  bool
	budget    time.Duration // 0: by device type
	timeout   time.Duration // 0: by device type
	validate  int
	loader    string
	loaders   []string // loader, or the default ones
	maxAPI    uint32
	reshape   func(*physical) // simulates another kind of device in tests
	arenaSize uint64          // 0: by heap size
	exact     bool            // see ExactBuffers
	imitated  *imitation      // see Imitate
	poison    bool            // see PoisonMemory
	ahead     bool            // see TranslateAhead
	oneThread bool            // see OneThread
	suits     func(Info) string
}

// Index selects a device by its index in the list of [Devices]. Without Index and Name, the environment variable EVORL_DEVICE selects the
// device, by index or by part of its name. Without it, the default is the first GPU, or else the software driver. A GPU's own driver comes before one
// that translates ([Info.Translated]).
func Index(n int) Option { return func(c *config) { c.index, c.indexed, c.name = n, true, "" } }

// Name selects the first device whose name contains part, ignoring case.
func Name(part string) Option { return func(c *config) { c.indexed, c.name = false, part } }

// Suits gives a function that returns why a device does not suit, or "". The default is the first device that suits; one that is asked for and does not is
// refused with the reason ([ErrNoDevice]).
func Suits(why func(Info) string) Option { return func(c *config) { c.suits = why } }

// OneThread makes Mesa's software driver compute in one thread, that of the device's queue, instead of in threads for all processors, unless
// LP_NUM_THREADS is set. It is for several devices side by side, one a processor: a dispatch then waits for no other thread to wake. Other drivers
// ignore it.
func OneThread() Option { return func(c *config) { c.oneThread = true } }

// Logger receives validation messages and warnings. The default discards them.
func Logger(l *slog.Logger) Option {
	return func(c *config) {
		if l != nil {
			c.logger = l
		}
	}
}

// CacheDir sets the folder of the pipeline cache. The default is "evorl" in [os.UserCacheDir]; "" turns the disk cache off.
func CacheDir(dir string) Option { return func(c *config) { c.cacheDir, c.cacheSet = dir, true } }

// SliceBudget sets the target duration of one submission. Longer programs are split.
// The default is 50 ms on GPUs, for the sake of watchdogs and desktops, and 1 s on software drivers.
func SliceBudget(d time.Duration) Option { return func(c *config) { c.budget = d } }

// Timeout sets how long to wait without any submission finishing before failing with [ErrTimeout].
// Time for which the process is stopped does not count.
// The default is 2 minutes on GPUs and 30 minutes on software drivers, which compile at the first dispatch.
func Timeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

// Validate turns on the Khronos validation layer with core and synchronization checks, if the layer is installed.
// Its messages go to the logger and to [Device.ValidationErrors].
func Validate(on bool) Option {
	return func(c *config) { c.validate = validationMode(on, validateSync) }
}

// ValidateShaders turns on the validation layer with GPU-assisted checks instead of synchronization checks. They detect kernels that
// access memory beyond the end of a [Buffer], but not of a [Range]. It implies [ExactBuffers].
func ValidateShaders(on bool) Option {
	return func(c *config) { c.validate, c.exact = validationMode(on, validateGPU), c.exact || on }
}

// ExactBuffers disables the padding of buffers of 16 bytes and more, and makes kernels load from storage buffers instead of by whole texels.
// Validation then detects an access one element beyond the end. The default is off, or on if the environment variable
// EVORL_EXACT_BUFFERS is not empty.
func ExactBuffers(on bool) Option { return func(c *config) { c.exact = on } }

// PoisonMemory fills new buffers with a NaN, so that tests detect reads of uninitialised memory. Otherwise buffers keep the memory's
// previous contents, often zeros. The default is off, or on if the environment variable EVORL_POISON_MEMORY is not empty.
func PoisonMemory(on bool) Option { return func(c *config) { c.poison = on } }

// TranslateAhead has kernels translated to machine code on all processors before they run, with Mesa's software driver, which itself translates
// one after the other at their first dispatch. The first start with new kernels is faster, and takes more processor time and memory. It needs
// the pipeline cache and the driver's on disk. The default is on, or off if the environment variable EVORL_TRANSLATE_AHEAD is 0.
func TranslateAhead(on bool) Option { return func(c *config) { c.ahead = on } }

// Loader sets the file name of the Vulkan loader library. The default is the environment variable EVORL_VULKAN_LOADER, else
// the system's: libvulkan.so.1, vulkan-1.dll, libvulkan.1.dylib. A process can use one loader only.
func Loader(library string) Option { return func(c *config) { c.loader = library } }

func validationMode(on bool, mode int) int {
	if on {
		return mode
	}
	return validateOff
}

func newConfig(opts []Option) (*config, error) {
	c := &config{logger: slog.New(slog.DiscardHandler), maxAPI: uint32(MakeVersion(1, 3, 0)),
		loader: os.Getenv("EVORL_VULKAN_LOADER"), ahead: os.Getenv("EVORL_TRANSLATE_AHEAD") != "0",
		exact: os.Getenv("EVORL_EXACT_BUFFERS") != "", poison: os.Getenv("EVORL_POISON_MEMORY") != ""}
	if device := os.Getenv("EVORL_DEVICE"); device != "" {
		if n, err := strconv.Atoi(device); err == nil {
			Index(n)(c)
		} else {
			Name(device)(c)
		}
	}
	for i, o := range opts {
		if o == nil {
			return nil, fmt.Errorf("vk: option %d of %d is nil; want one of Index, Name, Logger and others", i+1, len(opts))
		}
		o(c)
	}
	c.loaders = []string{c.loader}
	if c.loader == "" {
		c.loaders = loaderNames(runtime.GOOS)
	}
	if !c.cacheSet {
		// Without a home directory (a container, a daemon) there is no cache on disk. That is not an error.
		if dir, err := os.UserCacheDir(); err == nil {
			c.cacheDir = filepath.Join(dir, "evorl")
		}
	}
	return c, nil
}
