package envs

import (
	"fmt"

	"github.com/evorl/evorl/engine"
)

// hostedCopies lets a copied member, such as one that population based training replaces, take along the environments of the member that it copies, as it
// does where the device steps them. Their Stepper is a Saver; without one a copied member's environments go on as they are.
type hostedCopies struct {
	from  *engine.Tensor // [M] u32: the member whose environments each has; a copied member takes this number along, all others have their own
	found *engine.Tensor // [M], staging: what the host sees of it, and writes
	read  []uint32       // the host's view of found
}

// newCopies makes the tensors for so many members.
func newCopies(s *engine.State, members int) *hostedCopies {
	return &hostedCopies{
		from:  s.Tensor("outside_of", engine.Uint32, engine.Members(members)),
		found: s.Staging("hosted/outside_of", engine.Uint32, engine.Members(members)),
	}
}

// recordFind shows the host which members were copied, before the stage that begins a recording's steps.
func (c *hostedCopies) recordFind(r *engine.Recorder) {
	if c != nil {
		r.Copy(c.found, c.from)
	}
}

// recordSettle follows that stage: every member has its own environments again.
func (c *hostedCopies) recordSettle(r *engine.Recorder) {
	if c != nil {
		r.Copy(c.from, c.found)
	}
}

// settle writes that every member has its own environments.
func (c *hostedCopies) settle() error {
	if c == nil {
		return nil
	}
	for m := range c.read {
		c.read[m] = uint32(m)
	}
	return c.found.Flush()
}

// take continues the environments of copied members from the environments of the members that they copy; none of these is a copy itself (engine.Gather). Seeds
// stay: what is random in an environment is another member's from then on, and so are its next episodes.
func (h *hosted) take() error {
	if h.copies == nil {
		return nil
	}
	copied, from := false, h.copies.read
	perMember := len(h.episodes) / len(from)
	for i := range h.episodes {
		m := i / perMember
		source := int(from[m])*perMember + i%perMember
		if source == i {
			continue
		}
		if source >= len(h.episodes) {
			return fmt.Errorf("member %d has the environments of member %d; want 0 to %d", m, from[m], len(from)-1)
		}
		if err := h.copy(i, source); err != nil {
			return fmt.Errorf("copying environment %d of member %d to member %d: %w", i%perMember, from[m], m, err)
		}
		copied = true
	}
	if !copied {
		return nil
	}
	return h.flush()
}

// copy continues environment i from another one.
func (h *hosted) copy(i, source int) error {
	state := make([]byte, h.ro.env.Saved)
	if err := h.stepper.(Saver).Save(source, state); err != nil {
		return &OutsideError{Environment: source, Err: fmt.Errorf("saving it: %w", err)}
	}
	e := h.episodes[source]
	e.count = h.episodes[i].count
	h.episodes[i], h.words[i], h.returns[i] = e, e.word(), e.ret
	h.obs.copy(i, h.obs, source)
	if err := h.stepper.(Saver).Load(i, h.seeds[i], e.count, state); err != nil {
		return &OutsideError{Environment: i, Err: fmt.Errorf("loading it: %w", err)}
	}
	return nil
}

// KeepsEpisodes reports whether copied members go on with episodes of their own: in environments outside the device that are not saved. What is
// carried along with episodes is then not copied either.
func (e *Environment) KeepsEpisodes() bool { return e.outside && e.Saved == 0 }
