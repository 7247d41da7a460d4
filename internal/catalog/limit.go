package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/engine/config"
	"github.com/evorl/evorl/engine/nn"
	"github.com/evorl/evorl/vk"
)

// Limits finds the largest settings with which a configuration fits a device.
type Limits struct {
	Sections config.Sections
	Device   vk.Info
	Try      func(context.Context) error // makes everything that a run with the present settings needs, and frees it
}

// mostKeys is the maximum number of keys that an error of sizes names.
const mostKeys = 3

// Explain turns the error of a configuration that needs more workgroups or memory than the device has into one that
// names keys and, for each, the largest value that works with all other settings unchanged. That of a precision that
// the device does not have gets the key of the precision. Other errors are returned unchanged.
func (l Limits) Explain(ctx context.Context, err error) error {
	if errors.Is(err, nn.ErrNoFloat16) {
		return config.Invalid("network.precision", "%v", nn.Float16.Check(l.Device))
	}
	factor, within := exceeds(err), 0.0
	if factor <= 1 {
		return err
	}
	if memory := new(vk.OutOfMemoryError); errors.As(err, &memory) {
		within = 0.01 // available memory varies, and values that use nearly all of it take long to try
	}
	keys, e := l.sizes()
	if e != nil {
		return e
	}
	var first *config.Integer
	var text string
	for found := 0; len(keys) > 0 && found < mostKeys; keys = keys[1:] {
		key, value := keys[0], *keys[0].Value
		most, ok := l.largest(ctx, key.Value, factor, within)
		*key.Value = value
		if e := ctx.Err(); e != nil {
			return e
		}
		switch {
		case !ok:
			continue
		case found == 0:
			first, text = &key, fmt.Sprintf("%s = %d is more than this device can run with the other settings: want at most %d", key.Name, value, most)
		default:
			text += fmt.Sprintf(", or %s at most %d", key.Name, most)
		}
		found++
	}
	if first == nil {
		return err
	}
	return config.Invalid(first.Name, "%s (%v)", text, err)
}

// sizes lists the integer settings that may be sizes, by their dotted names, largest first.
func (l Limits) sizes() ([]config.Integer, error) {
	var keys []config.Integer
	for _, s := range l.Sections {
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

// largest finds the largest value of a setting with which the configuration fits the device, to a relative accuracy
// of within. With its present value the configuration is too large by factor. ok is false if the need does not depend
// on the setting, or no value fits.
func (l Limits) largest(ctx context.Context, value *int, factor, within float64) (most int, ok bool) {
	least := *value // the smallest value known not to work
	// try tests x, or x - 1 if x is rejected for another reason, such as having to be even. It returns the tested
	// value and the factor by which it is too large.
	try := func(x int) (int, float64) {
		*value = x
		now, err := l.excess(ctx)
		if err != nil && x > 1 {
			*value = x - 1
			now, err = l.excess(ctx)
		}
		if err != nil {
			return x, math.Inf(1)
		}
		return *value, now
	}
	x := max(1, min(int(float64(least)/factor), least-1))
	if _, smallest := try(2); smallest > 1 { // the need is from members, environments or episodes, or 2 is rejected for another reason
		if _, now := try(x); now >= factor {
			return 0, false
		}
	}
	for ; most == 0; x /= 2 { // the number of candidates evaluated at once may depend on the setting, so the first guess may fail
		if x < 1 || ctx.Err() != nil {
			return 0, false
		}
		if got, now := try(x); now <= 1 {
			most = got
		} else {
			least = x
		}
	}
	// Needs are rounded up, so a few more may work.
	for far := most + most/1024 + 2; float64(least-most) > max(1, within*float64(most)) && ctx.Err() == nil; far = (most + least) / 2 {
		if x, now := try(min(far, least-1)); now <= 1 && x > most {
			most = x
		} else {
			least = min(far, least-1)
		}
	}
	return most, true
}

// exceeds returns the factor by which a dispatch or the memory is too large; 0: err is another error.
func exceeds(err error) (x float64) {
	var groups *vk.GroupsError
	var memory *vk.OutOfMemoryError
	switch {
	case errors.As(err, &groups):
		for i, n := range groups.Groups {
			x = max(x, float64(n)/float64(groups.Allowed[i]))
		}
	case errors.As(err, &memory) && memory.Have > 0:
		x = float64(memory.Need) / float64(memory.Have)
	}
	return x
}

// excess returns the factor by which the configuration is too large for the device; at most 1: it fits.
func (l Limits) excess(ctx context.Context) (float64, error) {
	err := l.Try(ctx)
	if err == nil {
		return 1, nil
	}
	if x := exceeds(err); x > 1 {
		return x, nil
	}
	return 0, err
}
