package evorl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/vk"
)

// explain turns the error of a configuration that needs more workgroups than the device allows into one that names a key and its largest
// value that works, with all other settings as they are. Other errors are returned as they are.
func (c *Config) explain(ctx context.Context, eng *engine.Engine, err error) error {
	var groups *vk.GroupsError
	if !errors.As(err, &groups) {
		return err
	}
	keys, e := c.sizes()
	if e != nil {
		return e
	}
	for _, key := range keys {
		value := *key.Value
		most, ok := c.largest(ctx, eng, key.Value, groups)
		*key.Value = value
		if e := ctx.Err(); e != nil {
			return e
		}
		if ok {
			return c.document.Locate(config.Invalid(key.Name, "%s = %d is more than this device can run with the other settings: want at most %d (%v)",
				key.Name, value, most, err))
		}
	}
	return err
}

// sizes are the integers that may be sizes, by their dotted names, the largest first.
func (c *Config) sizes() ([]config.Integer, error) {
	var keys []config.Integer
	for _, s := range c.Sections() {
		if s.Name == "" || s.Name == "checkpoint" {
			continue
		}
		of, err := config.Integers(s.Value)
		if err != nil {
			return nil, err
		}
		for _, k := range of {
			if *k.Value > 1 {
				keys = append(keys, config.Integer{Name: s.Name + "." + k.Name, Value: k.Value})
			}
		}
	}
	slices.SortStableFunc(keys, func(a, b config.Integer) int { return cmp.Compare(*b.Value, *a.Value) })
	return keys, nil
}

// largest finds the largest value of a setting with which the device allows the number of workgroups; with the value that it has, it does
// not. ok is false when the number does not depend on the setting.
func (c *Config) largest(ctx context.Context, eng *engine.Engine, value *int, groups *vk.GroupsError) (most int, ok bool) {
	least, excess := *value, exceeds(groups) // the smallest value known not to work
	// try is x, or x - 1 where x is refused for another reason, as where it must be even; and by how much that is too large.
	try := func(x int) (int, float64) {
		*value = x
		now, err := c.excess(ctx, eng)
		if err != nil {
			*value = x - 1
			now, err = c.excess(ctx, eng)
		}
		if err != nil {
			return x, math.Inf(1)
		}
		return *value, now
	}
	x := max(1, min(int(float64(least)/excess), least-1))
	if _, smallest := try(2); smallest > 1 { // more members, environments or episodes do it, or 2 is refused for another reason
		if _, now := try(x); now >= excess {
			return 0, false
		}
	}
	for ; most == 0; x /= 2 { // what is evaluated at once may shrink with the number or not, so that the first guess may fail
		if x < 2 {
			return 0, false
		}
		if got, now := try(x); now <= 1 {
			most = got
		} else {
			least = x
		}
	}
	// The number of workgroups is rounded up, so that a few more may work.
	for far := most + most/1024 + 2; most+1 < least; far = (most + least) / 2 {
		if x, now := try(min(far, least-1)); now <= 1 && x > most {
			most = x
		} else {
			least = min(far, least-1)
		}
	}
	return most, true
}

// exceeds is the factor by which a dispatch is too large.
func exceeds(e *vk.GroupsError) float64 {
	x := 0.0
	for i, n := range e.Groups {
		x = max(x, float64(n)/float64(e.Allowed[i]))
	}
	return x
}

// excess is the factor by which the largest dispatch of the configuration is too large for the device; at most 1 when all work.
func (c *Config) excess(ctx context.Context, eng *engine.Engine) (float64, error) {
	w, err := c.prepared(ctx, eng)
	if err == nil {
		return 1, w.Close()
	}
	var groups *vk.GroupsError
	if errors.As(err, &groups) {
		return exceeds(groups), nil
	}
	return 0, err
}

// prepared is the workflow with all that a run needs, so that a wrong size and a lack of memory show before anything has been learned.
func (c *Config) prepared(ctx context.Context, eng *engine.Engine) (engine.Workflow, error) {
	w, err := c.Build(ctx, eng)
	if err != nil {
		return nil, err
	}
	if err := w.Prepare(ctx, c.Evaluation.Episodes); err != nil {
		return nil, errors.Join(fmt.Errorf("evorl: %s on %s: %w", c.Run.Workflow, c.Run.Env, err), w.Close())
	}
	return w, nil
}
