// Package view shows recorded episodes in three dimensions: as a web page that plays one in a browser, as animations and as
// still pictures.
package view

import (
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/envs"
)

// Show is an episode prepared for display by New.
type Show struct {
	Title   string // default: the environment's name
	Caption string // one line of description; may be empty

	env     *envs.Environment
	episode *envs.Episode
	step    float64 // seconds per action
	poses   [][]envs.Pose
	path    [][2]float64 // [T + 1]: camera position in x and y
}

// New prepares an episode of an environment in which every action was repeated for actionRepeat environment steps.
//
// It returns an error if the environment has no geometry, or if the episode is not one of the environment.
func New(env *envs.Environment, episode *envs.Episode, actionRepeat int) (*Show, error) {
	g := env.Geometry
	if g == nil {
		return nil, fmt.Errorf("view: %q cannot be seen: its Spec has no Geometry", env.Name)
	}
	n := len(episode.Actions)
	if len(episode.States) != n+1 || len(episode.Returns) != n || len(episode.Rewards) != n ||
		env.Seats() > 1 && len(episode.Seats) != n || slices.ContainsFunc(episode.States, sized(env.StateSize())) ||
		slices.ContainsFunc(episode.Actions, sized(env.Seats()*env.ActionWords())) || slices.ContainsFunc(episode.Seats, sized(env.Seats())) {
		return nil, fmt.Errorf("view: an episode of %d states, %d actions, %d returns; want one of %q", len(episode.States), n, len(episode.Returns), env.Name)
	}
	s := &Show{Title: env.Name, env: env, episode: episode, step: g.Time * float64(max(1, actionRepeat))}
	for _, state := range episode.States {
		poses, err := placed(g, state)
		if err != nil {
			return nil, fmt.Errorf("view: the Geometry of %q: %w", env.Name, err)
		}
		if len(poses) != len(g.Bodies) {
			return nil, fmt.Errorf("view: %q has %d bodies and places %d", env.Name, len(g.Bodies), len(poses))
		}
		s.poses = append(s.poses, poses)
	}
	s.follow()
	return s, nil
}

// placed returns the poses of a state; a panic of their function is an error.
func placed(g *envs.Geometry, state []float32) (poses []envs.Pose, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the function Poses panics with %v", v)
		}
	}()
	return g.Poses(state), nil
}

// sized returns whether a row has another length.
func sized(n int) func([]float32) bool { return func(row []float32) bool { return len(row) != n } }

// Seconds returns the duration of the episode.
func (s *Show) Seconds() float64 { return s.step * float64(len(s.episode.Actions)) }

// follow computes the camera's path: at each moment the mean position of its body over the surrounding half second.
func (s *Show) follow() {
	s.path = make([][2]float64, len(s.poses))
	body := s.env.Geometry.Camera.Body
	if body == 0 {
		return
	}
	reach := max(1, int(math.Round(0.25/s.step)))
	for i := range s.path {
		n := 0.0
		for k := max(0, i-reach); k <= min(len(s.poses)-1, i+reach); k++ {
			p := s.poses[k][body].Pos
			if !finite(p[0], p[1]) {
				continue
			}
			s.path[i][0], s.path[i][1], n = s.path[i][0]+p[0], s.path[i][1]+p[1], n+1
		}
		if n > 0 {
			s.path[i][0], s.path[i][1] = s.path[i][0]/n, s.path[i][1]/n
		} else if i > 0 {
			s.path[i] = s.path[i-1]
		}
	}
}

// moment returns the poses and the camera position at a time, interpolated between states.
func (s *Show) moment(seconds float64) ([]envs.Pose, [2]float64) {
	at := min(max(seconds/s.step, 0), float64(len(s.poses)-1))
	i := min(int(at), max(0, len(s.poses)-2))
	part := at - float64(i)
	if len(s.poses) == 1 {
		return s.poses[0], s.path[0]
	}
	from, to := s.poses[i], s.poses[i+1]
	out := make([]envs.Pose, len(from))
	for b := range out {
		sign := 1.0 // a quaternion and its negative are the same rotation; use the nearer one
		if dot(from[b].Rot[:], to[b].Rot[:]) < 0 {
			sign = -1
		}
		for k := range 3 {
			out[b].Pos[k] = from[b].Pos[k] + part*(to[b].Pos[k]-from[b].Pos[k])
		}
		for k := range 4 {
			out[b].Rot[k] = (1-part)*from[b].Rot[k] + part*sign*to[b].Rot[k]
		}
	}
	a, b := s.path[i], s.path[i+1]
	return out, [2]float64{a[0] + part*(b[0]-a[0]), a[1] + part*(b[1]-a[1])}
}

// returned returns the return at a time: of the actions completed so far.
func (s *Show) returned(seconds float64) float32 {
	done := min(int(seconds/s.step+1e-9), len(s.episode.Returns))
	if done == 0 {
		return 0
	}
	return s.episode.Returns[done-1]
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func finite(of ...float64) bool {
	for _, x := range of {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
