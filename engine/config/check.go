package config

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
)

// Check validates a struct, or a pointer to one, that a program filled in instead of a document. It checks the bounds of the fields
// and calls the Validate methods. The error names the key.
func Check(v any) error {
	value := reflect.Indirect(reflect.ValueOf(v))
	if value.Kind() != reflect.Struct {
		return fmt.Errorf("config: checking %T: want a struct", v)
	}
	c := &decoder{fields: map[reflect.Type][]field{}}
	if err := c.learn(value.Type()); err != nil {
		return err
	}
	return c.checkStruct(value, "")
}

func (c *decoder) checkValue(v reflect.Value, f *field, path string) error {
	if isText(v.Type()) {
		if m, ok := v.Interface().(encoding.TextMarshaler); ok {
			if _, err := m.MarshalText(); err != nil {
				return fmt.Errorf("%q: %w", path, err)
			}
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return c.checkValue(v.Elem(), f, path)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := c.checkValue(v.Index(i), f, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		for _, key := range sortedKeys(v) {
			if err := c.checkValue(v.MapIndex(key), f, join(path, key.String())); err != nil {
				return err
			}
		}
		return nil
	case reflect.Struct:
		return c.checkStruct(v, path)
	}
	if v.CanFloat() && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)) {
		return fmt.Errorf("%q is %v: want a finite number", path, v)
	}
	if want := f.check(v); want != "" {
		return fmt.Errorf("%q is %v: want %s", path, v, want)
	}
	return nil
}

func (c *decoder) checkStruct(v reflect.Value, path string) error {
	for _, f := range c.fields[v.Type()] {
		if err := c.checkValue(v.FieldByIndex(f.index), &f, join(path, f.name)); err != nil {
			return err
		}
	}
	if !v.CanAddr() {
		whole := reflect.New(v.Type()).Elem() // addressable, since Validate may have a pointer receiver
		whole.Set(v)
		v = whole
	}
	checked, ok := v.Addr().Interface().(interface{ Validate() error })
	if !ok {
		return nil
	}
	err := checked.Validate()
	if err != nil && path != "" {
		return fmt.Errorf("%q: %w", path, err)
	}
	return err
}
