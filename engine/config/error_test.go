package config

import (
	"errors"
	"strings"
	"testing"
)

// Each mistake is one error that shows the place. In the wanted text, the first line's file name is left out.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "workflow = 'x'\n[ppo]\n  learning_rat = 3e-4 # comment", `3:3: unknown key "learning_rat" in [ppo]
    learning_rat = 3e-4 # comment
    ^^^^^^^^^^^^
did you mean "learning_rate"?`},
		{"unknown key of another section", "learning_rate = 1", `1:1: unknown key "learning_rate" at the top level
  learning_rate = 1
  ^^^^^^^^^^^^^
"learning_rate" is a key in [ppo]`},
		{"unknown key, nothing near", "[pbt]\nxyz = 1", `2:1: unknown key "xyz" in [pbt]
  xyz = 1
  ^^^
valid: interval, search`},
		{"unknown section", "[netwrok]\nactivation = 'relu'", `1:2: unknown section [netwrok]
  [netwrok]
   ^^^^^^^
did you mean "network"?`},
		{"unknown section within", "[pbt.serch.learning_rate]", `1:6: unknown key "serch" in [pbt]
  [pbt.serch.learning_rate]
       ^^^^^
did you mean "search"?`},
		{"unknown key, dotted", "pbt.search.clip.lo = 1", `1:17: unknown key "lo" in [pbt.search.clip]
  pbt.search.clip.lo = 1
                  ^^
did you mean "low"?`},
		{"unknown key, inline", "pbt = {search = {'a b' = {low = 1, hi = 2}}}", `1:36: unknown key "hi" in [pbt.search."a b"]
  pbt = {search = {'a b' = {low = 1, hi = 2}}}
                                     ^^
did you mean "high"?`},
		{"unknown key, second of an array of tables", "[[network.layers]]\nunits = 1\n[[network.layers]]\nunit = 2", `4:1: unknown key "unit" in [network.layers[1]]
  unit = 2
  ^^^^
did you mean "units"?`},
		{"quoted key", "[ppo]\n\"clip\\u0020x\" = 1", `2:1: unknown key "clip x" in [ppo]
  "clip\u0020x" = 1
  ^^^^^^^^^^^^^
valid: members, learning_rate, gae_lambda, epochs, anneal, slice, target_kl, level, small, betas, weights`},
		{"type", "[ppo]\nlearning_rate = 'fast'", `2:17: "learning_rate" in [ppo] wants a number, not the string 'fast'
  learning_rate = 'fast'
                  ^^^^^^`},
		{"type: boolean", "[ppo]\nanneal = 1", `2:10: "anneal" in [ppo] wants a boolean, not the integer 1
  anneal = 1
           ^`},
		{"type: string", "workflow = 1979-05-27 07:32:00 # when", `1:12: "workflow" at the top level wants a string, not the date or time 1979-05-27 07:32:00
  workflow = 1979-05-27 07:32:00 # when
             ^^^^^^^^^^^^^^^^^^^`},
		{"type: table", "ppo = 3", `1:7: "ppo" at the top level wants a table, not the integer 3
  ppo = 3
        ^`},
		{"type: array", "[network]\nhidden = 64", `2:10: "hidden" in [network] wants an array of integer, not the integer 64
  hidden = 64
           ^^`},
		{"type: element", "[network]\nhidden = [64,\n  'a']", `3:3: "hidden[1]" in [network] wants an integer, not the string 'a'
    'a']
    ^^^`},
		{"type: not a scalar", "[[ppo]]\n[seed]", `1:1: "ppo" at the top level wants a table, not an array
  [[ppo]]
  ^^^^^^^`},
		{"type: table for a scalar", "[seed]\na = 1", `1:1: "seed" at the top level wants an integer, not a table
  [seed]
  ^^^^^^`},
		{"type: integer as float", "iterations = 1e3", `1:14: "iterations" at the top level is 1e3: want an integer, written 1000
  iterations = 1e3
               ^^^`},
		{"type: fraction for an integer", "iterations = 1.5", `1:14: "iterations" at the top level wants an integer, not the number 1.5
  iterations = 1.5
               ^^^`},
		{"range", "[ppo]\nlearning_rate = 0.0", `2:17: "learning_rate" in [ppo] is 0.0: want above 0
  learning_rate = 0.0
                  ^^^`},
		{"range: both", "[ppo]\ngae_lambda = 1.5", `2:14: "gae_lambda" in [ppo] is 1.5: want at least 0 and at most 1
  gae_lambda = 1.5
               ^^^`},
		{"range: element", "[ppo]\nbetas = [0.9, 1]", `2:15: "betas[1]" in [ppo] is 1: want at least 0 and below 1
  betas = [0.9, 1]
                ^`},
		{"range: map", "[ppo.weights]\na = -1", `2:5: "a" in [ppo.weights] is -1: want at least 0
  a = -1
      ^^`},
		{"range: duration", "[ppo]\nslice = '2s'", `2:9: "slice" in [ppo] is '2s': want at least 1ms and at most 1s
  slice = '2s'
          ^^^^`},
		{"range: optional", "[ppo]\ntarget_kl = 0", `2:13: "target_kl" in [ppo] is 0: want above 0
  target_kl = 0
              ^`},
		{"range: integer type", "seed = -1", `1:8: "seed" at the top level is -1: want at least 0
  seed = -1
         ^^`},
		{"range: small integer type", "ppo.small = 200", `1:13: "small" in [ppo] is 200: want at least -128 and at most 127
  ppo.small = 200
              ^^^`},
		{"range: float32", "ppo.target_kl = 1e40", `1:17: "target_kl" in [ppo] is 1e40: want a number that fits 32 bits
  ppo.target_kl = 1e40
                  ^^^^`},
		{"not finite", "[ppo]\nlearning_rate = inf", `2:17: "learning_rate" in [ppo] is inf: want a finite number
  learning_rate = inf
                  ^^^`},
		{"not a number", "[ppo]\ngae_lambda = nan", `2:14: "gae_lambda" in [ppo] is nan: want a finite number
  gae_lambda = nan
               ^^^`},
		{"choice", "[network]\nactivation = \"rleu\"", `2:14: "activation" in [network] is "rleu": want one of "relu", "tanh", "elu"
  activation = "rleu"
               ^^^^^^
did you mean "relu"?`},
		{"duration", "[ppo]\nslice = 'soon'", `2:9: "slice" in [ppo] is 'soon': want a duration such as "50ms" or "1m30s"
  slice = 'soon'
          ^^^^^^`},
		{"text", "[ppo]\nlevel = 'lo'", `2:9: "level" in [ppo]: no level "lo": want low or high
  level = 'lo'
          ^^^^`},
		{"array length", "[ppo]\nbetas = [1]", `2:9: "betas" in [ppo] has length 1: want 2
  betas = [1]
          ^^^`},
		{"missing", "seed = 3", `1:1: key "workflow" is missing at the top level
  seed = 3
  ^
What to run.`},
		{"missing in a table", "workflow = 'x'\n[pbt.search.clip] # here\nlow = 1", `2:1: key "high" is missing in [pbt.search.clip]
  [pbt.search.clip] # here
  ^^^^^^^^^^^^^^^^^`},
		{"missing in an inline table", "workflow = 'x'\npbt.search = {clip = {low = 1}}", `2:22: key "high" is missing in [pbt.search.clip]
  pbt.search = {clip = {low = 1}}
                       ^^^^^^^^^`},
		{"missing in an array", "workflow = 'x'\nnetwork.layers = [{units = 1}, {}]", `2:32: key "units" is missing in [network.layers[1]]
  network.layers = [{units = 1}, {}]
                                 ^^`},
		{"validate", "workflow = 'x'\n[pbt.search.clip]\nhigh = 1\nlow = 2", `3:8: "high" in [pbt.search.clip]: 1 is not above low = 2
  high = 1
         ^`},
		{"syntax", "workflow = \nseed = 3", `1:12: not TOML: expected value but found the end of the line instead
  workflow = 
             ^`},
		{"syntax: duplicate", "seed = 1\nseed = 2", `2:1: not TOML: Key 'seed' has already been defined
  seed = 2
  ^^^^`},
		{"syntax: at the end", "[ppo", `1:4: not TOML: expected '.' or ']' to end table name, but got the end of the file instead
  [ppo
     ^`},
		{"syntax: bare string", "workflow = pbt", `1:12: not TOML: expected value but found "pbt" instead
  workflow = pbt
             ^^^
a string stands in quotes`},
		{"not UTF-8", "workflow = \"\xff\"", "1:12: not TOML: invalid UTF-8 byte: 0xff\n  workflow = \"\ufffd\"\n             ^"},
		{"control characters", "\"\\u001b[2J\" = 1", `1:1: unknown key "\x1b[2J" at the top level
  "\u001b[2J" = 1
  ^^^^^^^^^^^
valid: workflow, env, seed, iterations, ppo, pbt, network`},
		{"tab before", "[ppo]\n\tlearning_rat\t= 1",
			"2:2: unknown key \"learning_rat\" in [ppo]\n" +
				"  \tlearning_rat\t= 1\n  \t^^^^^^^^^^^^\ndid you mean \"learning_rate\"?"},
		{"wide text before", "pbt.search = {'é' = {low = 'ü'}}",
			"1:28: \"low\" in [pbt.search.\"é\"] wants a number, not the string 'ü'\n  pbt.search = {'é' = {low = 'ü'}}\n                             ^^^"},
	} {
		_, err := decode(c.text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v", c.name, err)
			continue
		}
		if got := strings.TrimPrefix(e.Error(), "a.toml:"); got != c.want {
			t.Errorf("%s: error\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestFlagErrors(t *testing.T) {
	const file = "workflow = 'x'\n[ppo]\nepochs = 2\n"
	for _, c := range []struct{ text, want string }{
		{"ppo.learning_rat=3e-4", `unknown key "learning_rat" in [ppo]
  ppo.learning_rat=3e-4
      ^^^^^^^^^^^^
did you mean "learning_rate"?`},
		{"ppo.learning_rate=fast", `"learning_rate" in [ppo] wants a number, not the string "fast"
  ppo.learning_rate=fast
                    ^^^^`},
		{"ppo.learning_rate=-1", `"learning_rate" in [ppo] is -1: want above 0
  ppo.learning_rate=-1
                    ^^`},
		{"ppo.learning_rate=1 # comment", `"learning_rate" in [ppo] wants a number, not the string "1 # comment"
  ppo.learning_rate=1 # comment
                    ^^^^^^^^^^^`},
		{"ppo.epochs=1\nseed=2", `"epochs" in [ppo] wants an integer, not the string "1\nseed=2"
  ppo.epochs=1
             ^`},
		{"ppo.epochs=", `"epochs" in [ppo] wants an integer, not the string ""
  ppo.epochs=
             ^`},
		{"network.hidden=[64", `not TOML: expected a comma (',') or array terminator (']'), but got the end of the file
  network.hidden=[64
                   ^`},
		{"ppo.epochs.x=1", `"epochs" in [ppo] is a value, not a section
  ppo.epochs.x=1
      ^^^^^^`},
		{"epochs", `want key=value
  epochs
  ^^^^^^
for example ppo.learning_rate=3e-4`},
		{"=3", `want key=value
  =3
  ^^
for example ppo.learning_rate=3e-4`},
		{"", `want key=value
for example ppo.learning_rate=3e-4`},
		{"[ppo]", `want key=value
  [ppo]
  ^^^^^
for example ppo.learning_rate=3e-4`},
		{"network.activation=sigmoid", `"activation" in [network] is "sigmoid": want one of "relu", "tanh", "elu"
  network.activation=sigmoid
                     ^^^^^^^`},
		{"workflow=\xff", `the value is not UTF-8
  workflow=` + "\ufffd" + `
           ^`},
		{"ppo.levl=\x1b[2J", `unknown key "levl" in [ppo]
  ppo.levl=` + "\ufffd" + `[2J
      ^^^^
did you mean "level"?`},
	} {
		_, err := decode(file, Set(c.text))
		var e *Error
		if !errors.As(err, &e) || e.Flag != "--set" {
			t.Errorf("%q: error %v", c.text, err)
			continue
		}
		if got := strings.TrimPrefix(e.Error(), "--set: "); got != c.want {
			t.Errorf("%q: error\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
	if _, err := decode(file, Override{"--seed", "seed=x"}); err == nil || !strings.HasPrefix(err.Error(), "--seed: \"seed\" at") {
		t.Errorf("error %v", err)
	}
	// Without a flag's mistake, the flags go before the file and the last one wins; strings need no quotes, even where they look
	// like something else.
	a, err := decode(file, Set("ppo.epochs=3"), Set("ppo.epochs=4"), Set("workflow=1.50"), Set("env = a b#c "), Set(`pbt.search."x=y"={low=1,high=2}`))
	if err != nil || a.PPO.Epochs != 4 || a.Run.Workflow != "1.50" || a.Run.Env != "a b#c" || a.PBT.Search["x=y"].High != 2 {
		t.Errorf("decoded %+v, %v", a, err)
	}
}

// A long line is shown around the place.
func TestLongLine(t *testing.T) {
	_, err := decode("env = '" + strings.Repeat("a", 300) + "' x")
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || len(lines[1]) > 2+clipColumns || !strings.HasPrefix(lines[0], "a.toml:1:309: ") || !strings.HasSuffix(lines[1], "a' x") {
		t.Errorf("error\n%v", err)
	}
}
