package cmd

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evorl/evorl"
)

// labelled holds the labels of a group's task and method.
type labelled struct {
	*group
	method, task string
}

// labelGroups labels the task and the method of groups. They are the environment and the workflow, followed by those
// settings in which groups with the same labels differ: settings of the environment or problem belong to the task,
// others to the method.
func labelGroups(groups []*group) []labelled {
	out := make([]labelled, len(groups))
	var ofTask, ofMethod []string // keys
	for i, a := range groups {
		for _, b := range groups[:i] {
			if a.cfg == nil || b.cfg == nil || a.env != b.env {
				continue
			}
			for _, d := range a.cfg.Differences(b.cfg) {
				if a.cfg.OfTask(d.Key) {
					ofTask = appendNew(ofTask, d.Key)
				}
			}
		}
	}
	for i, g := range groups {
		out[i] = labelled{g, g.workflow, withKeys(cmp.Or(g.env, "?"), g.cfg, ofTask)}
	}
	for i, a := range out {
		for _, b := range out[:i] {
			if a.cfg == nil || b.cfg == nil || a.task != b.task || a.workflow != b.workflow {
				continue
			}
			for _, d := range a.cfg.Differences(b.cfg) {
				if d.Key != "seed" && d.Key != a.cfg.MembersKey() || a.cfg.Selects() && d.Key == a.cfg.MembersKey() {
					ofMethod = appendNew(ofMethod, d.Key)
				}
			}
		}
	}
	for i, g := range groups {
		out[i].method = withKeys(cmp.Or(g.workflow, g.paths[0]), g.cfg, ofMethod)
	}
	return out
}

func appendNew(to []string, key string) []string {
	if slices.Contains(to, key) {
		return to
	}
	return append(to, key)
}

// sha256Digits is the length of the digest of a file that env names; labels show a part of it.
const sha256Digits = 64

// withKeys appends the values of keys to a name.
func withKeys(name string, cfg *evorl.Config, keys []string) string {
	if cfg == nil {
		return name
	}
	for _, key := range keys {
		if value, ok := cfg.Value(key); ok {
			value = strings.Trim(value, `"`)
			if len(value) == sha256Digits {
				value = value[:8]
			}
			name += ", " + key[strings.LastIndexByte(key, '.')+1:] + "=" + value
		}
	}
	return name
}
