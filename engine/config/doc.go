// Package config reads TOML configuration strictly: an unknown key, a wrong type, a value out of range or a missing key is
// one [Error] that shows the line, points at the place and names what would be right.
//
// A part of the program describes its configuration as a Go struct, and a value of that struct holds the defaults:
//
//	type Config struct {
//		LearningRate float64 `above:"0" doc:"Step size of Adam."`
//		Discount     float64 `min:"0" max:"1" doc:"Weight of the reward one step later."`
//		Activation   string  `choices:"relu,tanh" doc:"Between the layers."`
//		Hidden       []int   `min:"1" doc:"Units of each hidden layer."`
//	}
//
// A key is its field's name in snake case (LearningRate is learning_rate, GAELambda is gae_lambda) or what the tag toml:"name"
// says; toml:"-" hides a field, and the fields of an embedded struct belong to the one around it. The other tags:
//
//	doc:"…"             what the key means
//	unit:"s"            unit of a number, for the documentation
//	min:"0" max:"1"     bounds of a number, included; of each element of an array
//	above:"0" below:"1" bounds, excluded
//	choices:"a,b"       the strings allowed
//	required:"true"     the key must be given
//	member:"prior a b"  each member has a value of its own, which PBT may search: by default with this prior from a to b (see
//	                    [Member]); member:"" has no default prior, and is searched only when asked for
//
// Types: bool, integers, floats, string, [time.Duration] (a string such as "50ms"), any [encoding.TextUnmarshaler] (a
// string), slices, arrays, structs (tables), maps from string (tables with free keys), and pointers to these (nil: not
// given). NaN and infinities are never accepted.
//
// A struct may have a method Validate() error that checks its fields together; [Invalid] ties its error to a key. An element
// of a map or slice starts from the element of that key in the default, or else from its zero value after its method
// SetDefaults(), when it has one. A map or slice that is given replaces the default one whole.
package config
