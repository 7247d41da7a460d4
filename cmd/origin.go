package cmd

import (
	"fmt"
	"strings"

	"github.com/evorl/evorl"
)

// copiesShown is the maximum number of copies that are named one by one; the last ones are.
const copiesShown = 4

// origin returns where the policy of a member came from, with warnings instead of errors: a run with damaged files can
// be shown.
func origin(restored *evorl.Restored, member int, warn func(string, ...any)) *evorl.Origin {
	o, damage, err := restored.Origin(member)
	for _, bad := range damage {
		warn("%v: left out", bad)
	}
	if err != nil {
		warn("where the member came from is not known: %v", err)
	}
	return o
}

// writeOrigin writes where the policy of a member came from, in one or two lines; nothing if o is nil.
func writeOrigin(b *strings.Builder, member int, o *evorl.Origin) {
	if o == nil {
		return
	}
	if o.Ancestor != nil {
		writeDescent(b, member, *o.Ancestor, o.Copies)
	}
	if o.Side == nil {
		return
	}
	text, _ := o.Side.MarshalText() // one of the two sides
	policy := map[string]string{"agents": "policy: the agent's own", "population": "policy: the population's solution"}[string(text)]
	b.WriteString(policy)
	if o.Best != nil {
		fmt.Fprintf(b, "; best candidate so far: %s", describeCandidate(*o.Best))
		if *o.Last != *o.Best {
			fmt.Fprintf(b, "; best of the last generation: %s", describeCandidate(*o.Last))
		}
	}
	b.WriteByte('\n')
}

// writeDescent writes the copies that led to a member, oldest first.
func writeDescent(b *strings.Builder, member, ancestor int, copies []evorl.Copy) {
	if len(copies) == 0 {
		fmt.Fprintf(b, "lineage: member %d since the first iteration, never replaced by a copy\n", member)
		return
	}
	fmt.Fprintf(b, "lineage: member %d of the first iteration", ancestor)
	shown := copies[:min(len(copies), copiesShown)]
	if hidden := len(copies) - len(shown); hidden > 0 {
		fmt.Fprintf(b, ", over %s to member %d", plural(hidden, "exchange"), shown[len(shown)-1].Of)
	}
	for i := len(shown) - 1; i >= 0; i-- {
		fmt.Fprintf(b, ", copied to member %d in iteration %d", shown[i].Member, shown[i].Iteration)
	}
	b.WriteByte('\n')
}

func describeCandidate(m evorl.BestCandidate) string {
	side := "evolution"
	if m.Learned {
		side = "learning"
	}
	return fmt.Sprintf("fitness %s, by %s in iteration %d", short(float64(m.Fitness)), side, m.Iteration)
}
