package catalog

// gradientsDivided are the settings of an agent whose gradients have parts.
type gradientsDivided interface{ Gradients() (parts int) }

// gradientsKey returns the key of the parts of gradients; "": the algorithm has none.
func (a *agent) gradientsKey() string {
	if _, ok := a.cfg.(gradientsDivided); !ok {
		return ""
	}
	return a.name + ".gradient_parts"
}

// inParts returns the settings of a learner whose gradients other devices can compute in parts; nil: the workflow is another, or divided otherwise.
func (s *Setup) inParts() *agent {
	a, ok := s.Settings.(*agent)
	if !ok || a.slices == nil || a.slices.Slice > 0 {
		return nil
	}
	if of, ok := a.cfg.(gradientsDivided); !ok || of.Gradients() < 2 {
		return nil
	}
	return a
}

// DividesGradients reports whether devices share runs of the setup by computing parts of gradients.
func (s *Setup) DividesGradients() bool { return s.inParts() != nil }
