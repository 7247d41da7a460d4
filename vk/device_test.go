package vk

import (
	"context"
	"errors"
	"io/fs"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestDevices(t *testing.T) {
	infos, err := Devices()
	if err != nil {
		t.Fatal(err)
	}
	for i, info := range infos {
		if info.Index != i || info.Name == "" || info.MemoryBytes == 0 || info.SubgroupSize == 0 || info.Limits.MaxStorageRange == 0 {
			t.Errorf("device %d: %+v", i, info)
		}
		d := openTest(t, Index(i))
		if got := d.Info(); !reflect.DeepEqual(got, info) {
			t.Errorf("device %d opened as %+v, listed as %+v", i, got, info)
		}
		if byName := openTest(t, Name(strings.ToUpper(info.Name))); byName.Info().Name != info.Name {
			t.Errorf("name %q opened %q", info.Name, byName.Info().Name)
		}
	}
	// The default is the first GPU.
	t.Setenv("EVORL_DEVICE", "")
	for _, info := range infos {
		if info.Type.GPU() {
			if got := openTest(t).Info().Index; got != info.Index {
				t.Errorf("the default device is %d, want %d", got, info.Index)
			}
			break
		}
	}
}

// EVORL_DEVICE selects the default device; Index and Name override it.
func TestDeviceVariable(t *testing.T) {
	info := openTest(t).Info()
	for _, variable := range []string{strconv.Itoa(info.Index), strings.ToUpper(info.Name)} {
		t.Setenv("EVORL_DEVICE", variable)
		if got := openTest(t).Info().Name; got != info.Name {
			t.Errorf("EVORL_DEVICE=%s opens %s, want %s", variable, got, info.Name)
		}
	}
	var index *DeviceIndexError
	t.Setenv("EVORL_DEVICE", "99")
	if _, err := Open(); !errors.As(err, &index) || index.Index != 99 {
		t.Errorf("EVORL_DEVICE=99: %v, want *DeviceIndexError", err)
	}
	openTest(t, Name(info.Name))
	var name *DeviceNameError
	t.Setenv("EVORL_DEVICE", "Voodoo")
	if _, err := Open(); !errors.As(err, &name) || name.Name != "Voodoo" {
		t.Errorf("EVORL_DEVICE=Voodoo: %v, want *DeviceNameError", err)
	}
	openTest(t, Index(info.Index))
}

func TestNoSuchDevice(t *testing.T) {
	var index *DeviceIndexError
	if _, err := Open(Index(99)); !errors.As(err, &index) || index.Index != 99 || index.Count < 1 {
		t.Errorf("Open(Index(99)): %v, want *DeviceIndexError", err)
	}
	if _, err := Open(Index(-1)); !errors.As(err, &index) {
		t.Errorf("Open(Index(-1)): %v, want *DeviceIndexError", err)
	}
	var name *DeviceNameError
	if _, err := Open(Name("Voodoo")); !errors.As(err, &name) || len(name.Names) == 0 {
		t.Errorf(`Open(Name("Voodoo")): %v, want *DeviceNameError`, err)
	}
}

func TestNoLoader(t *testing.T) {
	for _, open := range []func() error{
		func() error { _, err := Open(Loader("libno-such-vulkan.so.1")); return err },
		func() error { _, err := Devices(Loader("/dev/null")); return err },
		func() error {
			t.Setenv("EVORL_VULKAN_LOADER", "libno-such-vulkan.so.1")
			_, err := Open()
			return err
		},
	} {
		err := open()
		if !errors.Is(err, ErrNoLoader) || !strings.Contains(err.Error(), "libvulkan1 mesa-vulkan-drivers") {
			t.Errorf("%v, want ErrNoLoader with advice", err)
		}
	}
}

func TestNoDriver(t *testing.T) {
	for _, name := range []string{"VK_DRIVER_FILES", "VK_ICD_FILENAMES"} {
		t.Setenv(name, "/nonexistent.json")
	}
	for _, open := range []func() error{
		func() error { _, err := Open(); return err },
		func() error { _, err := Devices(); return err },
	} {
		if err := open(); !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "mesa-vulkan-drivers") {
			t.Errorf("%v, want ErrNoDevice with advice", err)
		}
	}
}

// After Close every method returns ErrClosed or a zero value, and nothing crashes.
func TestClose(t *testing.T) {
	eachVariant(t, func(t *testing.T, d *Device) {
		ctx := context.Background()
		b, r := newTestBuffer(t, d, 64, Local), newTestBuffer(t, d, 64, Readback)
		p := d.NewProgram("closed")
		p.Dispatch(spinCall(b.All(), 100))
		p.Copy(r.All(), b.All())
		build(t, p)
		ticket, err := p.Submit(ctx)
		if err != nil {
			t.Fatal(err)
		}
		writeWords(t, b, make([]uint32, 64)) // opens the staging path
		for range 2 {
			if err := d.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
		later := d.NewProgram("later")
		later.Fill(b.All(), 1)
		_, submit := p.Submit(ctx)
		_, profile := p.Profile(ctx)
		_, allocate := d.NewBuffer(16, Local)
		_, compile := d.Compile(addShader, nil, 0)
		for what, err := range map[string]error{
			"Run": p.Run(ctx), "Submit": submit, "Profile": profile, "Wait": ticket.Wait(ctx), "NewBuffer": allocate, "Compile": compile,
			"Write": b.Write(ctx, 0, []byte{1}), "Read": b.Read(ctx, 0, []byte{1}), "Build": later.Build(),
		} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s after Close: %v, want ErrClosed", what, err)
			}
		}
		if !ticket.Done() {
			t.Error("a ticket of a closed device is not done")
		}
		if r.Mapped() != nil {
			t.Error("a buffer of a closed device is mapped")
		}
		b.Free()
		p.Free()
		later.Free()
		if m := d.Memory(); m.Used != 0 {
			t.Errorf("Memory after Close: %+v", m)
		}
		if d.Info().Name == "" || d.Counters().Submissions != 1 {
			t.Error("Info and Counters are lost after Close")
		}
		d.ValidationErrors()
	})
}

func TestErrorsMatch(t *testing.T) {
	lost := &DeviceError{Op: "waiting", Result: resultDeviceLost, Running: "ppo step"}
	if !errors.Is(lost, ErrDeviceLost) || errors.Is(lost, ErrTimeout) || errors.Is(lost, fs.ErrNotExist) {
		t.Errorf("%v matches the wrong sentinels", lost)
	}
	for err, want := range map[error]string{
		lost: `vk: waiting: device lost while program "ppo step" was running`,
		&DeviceError{Op: "waiting", Result: resultTimeout}: "vk: waiting: timed out; the device made no progress",
		&DeviceError{Op: "x", Result: -1234}:               "vk: x: VkResult(-1234)",
		&OutOfMemoryError{What: "local buffer", Need: 3 << 30, Have: 1, Why: "heap"}: "a local buffer needs 3.0 GiB (3221225472 bytes), " +
			"but only 1 B (1 bytes) are available: heap",
		&DeviceIndexError{Index: 3, Count: 2}: "vk: no device 3: there are 2 devices, with indices 0 to 1",
		&DeviceIndexError{Index: 3, Count: 1}: "vk: no device 3: there is one device, with index 0",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
