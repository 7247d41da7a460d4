// Package vktest opens devices for tests.
package vktest

import (
	"fmt"
	"math"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/evorl/evorl/vk"
)

// shared is the device of the process.
var shared struct {
	sync.Mutex
	dev      *vk.Device // nil: none is open
	reported int        // validation messages of it that were reported
	users    int        // tests that have it
}

// most is the number of submissions of the shared device from which on the next test opens another one. Under tools/validate it is few: its validation across
// submissions keeps what a device's submissions accessed, and takes longer with each of them.
var most = func() uint64 {
	if os.Getenv("VK_LAYER_SETTINGS_PATH") != "" {
		return 200
	}
	return math.MaxUint64
}()

// Validate makes the device of Device validate. A package may set it before its tests.
var Validate = true

// Device returns a device that the tests of the process share, since most of a short test is the compiling of kernels (see most). It is the default device
// with, if Validate, core and synchronization validation. A validation message fails the test that caused it.
func Device(t testing.TB) *vk.Device {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.dev != nil && shared.users == 0 && shared.dev.Counters().Submissions >= most {
		for _, message := range shutDown() {
			t.Error("of an earlier test's device:", message)
		}
	}
	if shared.dev == nil {
		var err error
		// A busy machine splits no submission: tests count them.
		if shared.dev, err = vk.Open(vk.Validate(Validate), vk.CacheDir(""), vk.SliceBudget(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	shared.users++
	t.Cleanup(func() {
		shared.Lock()
		defer shared.Unlock()
		shared.users--
		for _, message := range fresh() {
			t.Error(message)
		}
	})
	return shared.dev
}

// fresh returns the shared device's validation messages since the last call.
func fresh() []string {
	messages := shared.dev.ValidationErrors()[shared.reported:]
	shared.reported += len(messages)
	return messages
}

// shutDown closes the shared device. It returns what is wrong, such as an object that was not destroyed.
func shutDown() (messages []string) {
	if shared.dev == nil {
		return nil
	}
	if err := shared.dev.Close(); err != nil {
		messages = append(messages, err.Error())
	}
	messages = append(messages, fresh()...)
	shared.dev, shared.reported = nil, 0
	return messages
}

// Open opens a device that the test has for itself, with core and synchronization validation unless an option says otherwise. It is closed
// after the test. A validation message fails the test.
func Open(t testing.TB, options ...vk.Option) *vk.Device {
	t.Helper()
	dev, err := vk.Open(append([]vk.Option{vk.Validate(true), vk.CacheDir("")}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
		for _, message := range dev.ValidationErrors() {
			t.Error(message)
		}
	})
	return dev
}

// Main is the TestMain of a package whose tests call [Device]: it runs the tests and closes the device. What the layer says of closing it fails
// the package.
func Main(m *testing.M) {
	code := m.Run()
	for _, message := range shutDown() {
		fmt.Println("the tests' device:", message)
		code = max(code, 1)
	}
	os.Exit(code)
}
