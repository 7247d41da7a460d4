package vk

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// The validator must detect a missing barrier and an access out of bounds; otherwise its silence proves nothing. These tests run in
// child processes, so that their messages do not appear in the output.
func TestValidatorSees(t *testing.T) {
	for _, fault := range []string{"hazard", "out of bounds"} {
		if out, err := runChild(t, fault, "VK_LAYER_SETTINGS_PATH=/dev/null", "VK_INSTANCE_LAYERS="); err != nil {
			t.Errorf("%s: %v\n%s", fault, err, out)
		}
	}
}

func init() {
	children["hazard"] = func() error {
		d, err := Open(Validate(true), CacheDir(""))
		if err != nil {
			return err
		}
		defer d.Close()
		if !d.Validating() {
			return nil // the layer is not installed
		}
		x, err := d.NewBuffer(768, Local)
		if err != nil {
			return err
		}
		p := d.NewProgram("hazard")
		p.Dispatch(addCall(x.Range(0, 256), x.Range(0, 256), x.Range(256, 256), 64))
		p.Dispatch(addCall(x.Range(256, 256), x.Range(0, 256), x.Range(512, 256), 64))
		if err := p.Build(); err != nil {
			return err
		}
		if messages := d.ValidationErrors(); len(messages) > 0 {
			return fmt.Errorf("before the fault: %q", messages)
		}
		p.ops[1].barrier = false
		if err := p.record(p.plan); err != nil {
			return err
		}
		messages := d.ValidationErrors()
		if len(messages) == 0 || !strings.Contains(messages[0], "SYNC-HAZARD-READ-AFTER-WRITE") || !strings.Contains(messages[0], "add") {
			return fmt.Errorf("messages %q, want SYNC-HAZARD-READ-AFTER-WRITE in kernel add", messages)
		}
		return nil
	}
	children["out of bounds"] = func() error {
		d, err := Open(ValidateShaders(true), CacheDir(""))
		if err != nil {
			return err
		}
		defer d.Close()
		if !d.Validating() {
			return nil // the layer is not installed
		}
		x, err := d.NewBuffer(768, Local)
		if err != nil {
			return err
		}
		for _, n := range []int{64, 193} { // the second accesses memory beyond the end
			p := d.NewProgram("bounds")
			p.Dispatch(addCall(x.Range(0, 256), x.Range(256, 256), x.Range(512, 256), n))
			if err := p.Build(); err != nil {
				return err
			}
			if err := p.Run(context.Background()); err != nil {
				return err
			}
			messages := d.ValidationErrors()
			if n == 64 && len(messages) > 0 || n > 64 && (len(messages) == 0 || !strings.Contains(messages[0], "out of bounds")) {
				return fmt.Errorf("n = %d: messages %q", n, messages)
			}
		}
		return nil
	}
}
