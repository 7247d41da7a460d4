package catalog

import (
	"reflect"

	"github.com/evorl/evorl/engine/config"
)

// choose sets the fields of chosen, a pointer to a struct of names of workflows, to the keys of a section that name them, so that their sections are known
// before the document is decoded. cfg, a pointer to the section's value, has fields of the same names, whose values are the defaults; those of the
// last value of With of the section's type replace them, and keys of the document both.
func choose(d *config.Document, section string, cfg any, values []any, chosen any) error {
	from, to := reflect.ValueOf(cfg).Elem(), reflect.ValueOf(chosen).Elem()
	for _, v := range values {
		if of := reflect.Indirect(reflect.ValueOf(v)); of.IsValid() && of.Type() == from.Type() {
			from = of
		}
	}
	for i := range to.NumField() {
		to.Field(i).Set(from.FieldByName(to.Type().Field(i).Name))
	}
	return d.Peek(section, chosen)
}
