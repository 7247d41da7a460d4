package config

import (
	"fmt"
	"reflect"
)

// Check says what is wrong with a configuration that was made in Go, as Decode says it of one that was read: a value that is outside
// its field's range, not finite or none of its kind's, or what a Validate method refuses. v is the struct or a pointer to it; the
// values of maps, and structs in lists, are the Validate methods' to check.
func Check(v any) error {
	given := reflect.Indirect(reflect.ValueOf(v))
	if given.Kind() != reflect.Struct {
		return fmt.Errorf("config: check of %T: want a struct", v)
	}
	value := reflect.New(given.Type()).Elem() // addressable, as a method of a pointer needs
	value.Set(given)
	c := &decoder{fields: map[reflect.Type][]field{}}
	if err := c.learn(value.Type()); err != nil {
		return err
	}
	return c.check(value, "")
}

func (c *decoder) check(v reflect.Value, path string) error {
	for _, f := range c.fields[v.Type()] {
		x, name := v.FieldByIndex(f.index), join(path, f.name)
		for x.Kind() == reflect.Pointer && !x.IsNil() {
			x = x.Elem()
		}
		switch {
		case x.Kind() == reflect.Pointer:
			continue
		case x.Kind() == reflect.Struct && !isText(x.Type()):
			if err := c.check(x, name); err != nil {
				return err
			}
			continue
		}
		text, err := inline(x)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if want := f.checkAll(x); want != "" {
			return fmt.Errorf("%s is %s; want %s", name, text, want)
		}
	}
	if checked, ok := v.Addr().Interface().(interface{ Validate() error }); ok {
		return checked.Validate()
	}
	return nil
}
