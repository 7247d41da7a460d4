package mjcf

import (
	"fmt"
	"slices"
	"strings"
)

// vocabulary holds what the expressions of a task may name: quantities of the state after a step, of the action, and
// of the model's bodies and sites. It collects the senses that they use.
type vocabulary struct {
	model  *Model
	named  map[string]string // name to GLSL, of numbers
	order  []string          // the names, as the model has them
	senses []string
	pairs  map[string]string // name to sense
	state  int               // where the senses begin in the state
}

// freeAxes are the suffixes of a free joint's positions and velocities.
var (
	freePositions  = []string{"_x", "_y", "_z", "_qw", "_qx", "_qy", "_qz"}
	freeVelocities = []string{"_vx", "_vy", "_vz", "_wx", "_wy", "_wz"}
)

// newVocabulary lists the names of a model. Two elements of the same name are an error.
func newVocabulary(m *Model) (*vocabulary, error) {
	v := &vocabulary{model: m, named: map[string]string{}, pairs: map[string]string{}, state: m.NQ + 2*m.NV}
	for i := range m.Bodies {
		for k := range m.Bodies[i].Joints {
			if err := v.joint(&m.Bodies[i].Joints[k]); err != nil {
				return nil, err
			}
		}
	}
	for i := range m.Actuators {
		name := Identifier(m.Actuators[i].Name)
		if name == "" {
			name = fmt.Sprint("actuator", i)
		}
		if err := v.add(m.Actuators[i].At, name+"_action", fmt.Sprintf("action[%d]", i)); err != nil {
			return nil, err
		}
	}
	for name, glsl := range map[string]string{"effort": "effort", "dt": "DT", "pi": "3.14159265"} {
		if _, taken := v.named[name]; taken {
			return nil, fmt.Errorf("%s: a joint is named %q, which has another meaning in tasks; want another name", m.Source, name)
		}
		v.named[name] = glsl
	}
	v.order = append(v.order, "effort", "dt", "pi")
	return v, v.sensed()
}

func (v *vocabulary) add(at, name, glsl string) error {
	if _, taken := v.named[name]; taken {
		return fmt.Errorf("%s: the name %q, for expressions of tasks, is taken; want a name that no other element has", at, name)
	}
	v.named[name] = glsl
	v.order = append(v.order, name)
	return nil
}

// joint adds the names of a joint: its position, its velocity, and the rate of its position over a whole step.
func (v *vocabulary) joint(j *Joint) error {
	name := Identifier(j.Name)
	if name == "" {
		name = fmt.Sprint("joint", j.DOF)
	}
	positions, velocities, rates := []string{""}, []string{"_velocity"}, []string{"_rate"}
	switch j.Type {
	case "free":
		positions, velocities, rates = freePositions, freeVelocities, []string{"_x_rate", "_y_rate", "_z_rate"}
	case "ball":
		positions, velocities, rates = freePositions[3:], freeVelocities[3:], nil
	}
	for _, part := range []struct {
		suffixes []string
		first    int
		glsl     string
	}{{positions, j.Q, "s[%d]"}, {velocities, v.model.NQ + j.DOF, "s[%d]"}, {rates, j.Q, "RATE(%d)"}} {
		for i, suffix := range part.suffixes {
			if err := v.add(j.At, name+suffix, fmt.Sprintf(part.glsl, part.first+i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// sensed adds the positions of bodies, sites and the centre of mass.
func (v *vocabulary) sensed() error {
	add := func(name, sense string) error {
		for _, axis := range []string{"x", "y", "z"} {
			full := name + "_" + axis
			if _, taken := v.pairs[full]; taken || v.named[full] != "" {
				return fmt.Errorf("%s: the name %q, for expressions of tasks, is taken; want a name that no other element has", v.model.Source, full)
			}
			v.pairs[full] = sense + " " + axis
			v.order = append(v.order, full)
		}
		return nil
	}
	if v.model.firstMass() > 0 {
		if err := add("mass", "position mass"); err != nil {
			return err
		}
	}
	for i := 1; i < len(v.model.Bodies); i++ {
		b := &v.model.Bodies[i]
		if named := plain(b.Name); named {
			if err := add("body_"+Identifier(b.Name), "position "+b.Name); err != nil {
				return err
			}
		}
		for _, site := range b.Sites {
			if plain(site.Name) {
				if err := add("site_"+Identifier(site.Name), "site "+site.Name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// plain reports whether senses can name an element: it has a name, without spaces.
func plain(name string) bool { return name != "" && !strings.ContainsAny(name, " \t\n") }

// lookup returns the GLSL of a name. A sense gets a place in the state.
func (v *vocabulary) lookup(name string) (string, kind, error) {
	if glsl, ok := v.named[name]; ok {
		return glsl, scalar, nil
	}
	sense, ok := v.pairs[name]
	if !ok {
		return "", 0, fmt.Errorf("there is no %q%s", name, nearest(name, v.order))
	}
	i := slices.Index(v.senses, sense)
	if i < 0 {
		i = len(v.senses)
		v.senses = append(v.senses, sense)
	}
	return fmt.Sprintf("s[%d]", v.state+i), scalar, nil
}

// Names lists what expressions of a task may name.
func (m *Model) Names() ([]string, error) {
	v, err := newVocabulary(m)
	if err != nil {
		return nil, err
	}
	return append(v.order, "terminated"), nil
}
