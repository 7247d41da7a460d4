// Package config reads TOML configuration strictly. An unknown key, a wrong type, a value out of range or a missing key is
// an [Error] that shows the line, marks the position and suggests a correction.
//
// A part of the program describes its configuration as a Go struct. A value of that struct holds the defaults:
//
//	type Config struct {
//		LearningRate float64 `above:"0" doc:"Step size of Adam."`
//		Discount     float64 `min:"0" max:"1" doc:"Weight of the reward one step later."`
//		Activation   string  `choices:"relu,tanh" doc:"Activation between the layers."`
//		Hidden       []int   `min:"1" doc:"Units of each hidden layer."`
//	}
//
// A key is the field's name in snake case (LearningRate is learning_rate, GAELambda is gae_lambda), or the name in the tag
// toml:"name". toml:"-" hides a field. The fields of an embedded struct belong to the struct that embeds it. The other tags:
//
//	doc:"…"             what the key means
//	unit:"s"            unit of a number, for the documentation
//	min:"0" max:"1"     inclusive bounds of a number, or of each element of an array
//	above:"0" below:"1" exclusive bounds
//	choices:"a,b"       the strings allowed
//	required:"true"     the key must be given
//	replaces:"key"      if this is given and not empty, nor zero (the first of names), the list of the other key is empty, and must not be given
//	member:"prior a b"  each member has its own value, which PBT may search: by default with this prior from a to b (see
//	                    [Member]); member:"" has no default prior, and is searched only on request
//
// Types: bool, integers, floats, string, [time.Duration] (a string such as "50ms"), any [encoding.TextUnmarshaler] (a
// string), slices, arrays, structs (tables), maps from string (tables with free keys), and pointers to these (nil: not
// given). NaN and infinities are never accepted.
//
// A struct may have a method Validate() error that checks constraints across fields; [Invalid] attaches an error to a key. An element
// of a map or slice starts from the default element of that key. Without one it starts from its zero value, after a call of its method
// SetDefaults() if it has one. A given map or slice replaces the default as a whole.
package config
