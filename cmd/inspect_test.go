package cmd

import (
	"strings"
	"testing"

	"github.com/evorl/evorl/engine/rundir"
)

// TestInspectVaries: a session that no other one repeats says why.
func TestInspectVaries(t *testing.T) {
	in := &inspection{Provenance: rundir.Provenance{Sessions: []rundir.Session{{Varies: "impala.asynchronous"}, {}}}}
	if text := in.text(); strings.Count(text, "varies") != 1 || !strings.Contains(text, "  varies   impala.asynchronous\n") {
		t.Errorf("%s\nwant why the first session varies", text)
	}
}
