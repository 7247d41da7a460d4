package envs

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/evorl/evorl/engine/config"
)

// optionConstants is the number of specialization constants in shaders/envs/options.glsl.
const optionConstants = 12

// With returns the environment with other options: a struct of the type of Spec.Options, such as envs.HopperOptions
// for Hopper-v5. Start from DefaultHopperOptions or from the Spec's options. Options that change the observation
// change the GLSL, which is then compiled at first use on a device, as with New.
//
// Errors: options of another type, values out of range.
func (e *Environment) With(options any) (*Environment, error) {
	if reflect.TypeOf(options) != reflect.TypeOf(e.Options) || options == nil {
		return nil, fmt.Errorf("envs: options of %q: %T; want %T", e.Name, options, e.Options)
	}
	if err := config.Check(options); err != nil {
		return nil, fmt.Errorf("envs: options of %q: %w", e.Name, err)
	}
	base := e
	if e.base != nil {
		base = e.base
	}
	out := &Environment{
		Spec: base.Spec, glsl: base.glsl, file: base.file, words: base.words, paints: base.paints,
		stored: base.stored, scripted: base.scripted, shaped: base.shaped, base: base,
	}
	out.Options = options
	var err error
	if out.constant, err = constants(options); err != nil {
		return nil, fmt.Errorf("envs: options of %q: %w", e.Name, err)
	}
	value, before := reflect.ValueOf(options), reflect.ValueOf(base.Options)
	for i := range value.NumField() {
		tag := value.Type().Field(i).Tag
		if name := tag.Get("define"); name != "" && value.Field(i).Bool() != before.Field(i).Bool() {
			out.define(name, tag.Get("adds"))
		}
	}
	defines, err := definesOf(out.glsl)
	if err != nil {
		return nil, fmt.Errorf("envs: options of %q: %w", e.Name, err)
	}
	if err := checkSizes(out.Spec, defines); err != nil {
		return nil, err
	}
	if a, ok := options.(actions); ok {
		out.Spec = a.spec(out.Spec)
	}
	return out, nil
}

// actions is implemented by options that change the actions. The GLSL has the constants of both.
type actions interface {
	spec(Spec) Spec
}

// define enables a macro of the GLSL, which adds observations.
func (e *Environment) define(name, adds string) {
	n, _ := strconv.Atoi(adds)
	size := e.ObsSize() + n
	first, rest, _ := strings.Cut(e.glsl, "\n")
	e.glsl = first + "\n#define " + name + " 1\n" + obsSizeLine.ReplaceAllString(rest, fmt.Sprintf("#define OBS_SIZE %d", size))
	e.Observation = Symmetric(repeated(size, e.Observation.High[0])...)
	e.file = ""
}

var obsSizeLine = regexp.MustCompile(`(?m)^#define OBS_SIZE \d+`)

// constants returns the specialization constants of options.
func constants(options any) (out [optionConstants]float32, err error) {
	value := reflect.ValueOf(options)
	if value.Kind() != reflect.Struct {
		return out, fmt.Errorf("a %T; want a struct", options)
	}
	var all []float32
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if field.Tag.Get("define") != "" {
			if _, err := strconv.Atoi(field.Tag.Get("adds")); err != nil || field.Type.Kind() != reflect.Bool {
				return out, fmt.Errorf("field %s, of type %s, adds %q; want a bool that adds a number of observations", field.Name, field.Type, field.Tag.Get("adds"))
			}
			continue
		}
		numbers, err := flatten(value.Field(i))
		if err != nil {
			return out, fmt.Errorf("field %s: %w", field.Name, err)
		}
		all = append(all, numbers...)
	}
	if len(all) > optionConstants {
		return out, fmt.Errorf("%d numbers; want at most %d", len(all), optionConstants)
	}
	copy(out[:], all)
	return out, nil
}

// setOptions sets a kernel's option constants.
func (e *Environment) setOptions(constants ...*float32) {
	for i, c := range constants {
		*c = e.constant[i]
	}
}

// flatten returns a field as numbers.
func flatten(v reflect.Value) ([]float32, error) {
	switch v.Kind() {
	case reflect.Float32:
		return []float32{float32(v.Float())}, nil
	case reflect.Bool:
		if v.Bool() {
			return []float32{1}, nil
		}
		return []float32{0}, nil
	case reflect.Array:
		if v.Len() == 2 && v.Type().Elem().Kind() == reflect.Float32 {
			return []float32{float32(v.Index(0).Float()), float32(v.Index(1).Float())}, nil
		}
	}
	return nil, fmt.Errorf("type %s; want float32, bool or [2]float32", v.Type())
}
