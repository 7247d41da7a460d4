package engine

// Unsaved makes a tensor whose contents go on from iteration to iteration and are not in checkpoints, such as a large replay: a resumed run makes them anew
// (OnResume). They move with a state that goes on elsewhere (Moving). Zero clears them.
func (s *State) Unsaved(name string, typ DType, dims ...Dim) *Tensor {
	t := s.Scratch(name, typ, dims...)
	if s.all.err == nil {
		s.all.unsaved = append(s.all.unsaved, t)
	}
	return t
}

// Moving lists all that an iteration depends on besides constants: the saved tensors and those of Unsaved, in creation order. A state of the same workflow with
// their elements and the same Position goes on with the same bits.
func (s *State) Moving() []*Tensor { return append(s.Tensors(), s.all.unsaved...) }

// Position returns the iteration that follows, and whether what OnResume was given has still to run before it.
func (s *State) Position() (next int, resumed bool) { return s.all.next, s.all.resumed }

// MoveTo sets the Position, after the elements of Moving were written one by one.
func (s *State) MoveTo(next int, resumed bool) error {
	if err := s.Ready(); err != nil {
		return err
	}
	if next < 0 {
		return &IterationError{next, "at least 0"}
	}
	s.all.torn, s.all.next, s.all.resumed = 0, next, resumed
	return nil
}
