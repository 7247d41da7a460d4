package view

import (
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"

	"github.com/evorl/evorl/envs"
)

//go:embed page.html
var pageHTML string

//go:embed solids.js
var solidsJS string

//go:embed scene.js
var sceneJS string

//go:embed panel.js
var panelJS string

var page = template.Must(template.New("page").Parse(pageHTML))

// WritePage writes a web page that plays the episode. It needs no other file and no network. Browsers with WebGL 2 show it.
func (s *Show) WritePage(w io.Writer) error {
	text, err := json.Marshal(s.data())
	if err != nil {
		return fmt.Errorf("view: the page of %q: %w", s.env.Name, err)
	}
	mean := ""
	if s.env.Seats() > 1 {
		mean = ", mean of the seats"
	}
	return page.Execute(w, map[string]any{
		"Title": s.Title, "Mean": mean, "Caption": s.Caption, "Data": template.JS(text), // json.Marshal escapes text that could end a script
		"Script": template.JS(solidsJS + sceneJS + panelJS),
	})
}

// pageData is the input of the page's script.
type pageData struct {
	Step    float64     `json:"step"`   // seconds per action
	Steps   int         `json:"steps"`  // actions
	Length  int         `json:"length"` // environment steps
	Return  json.Number `json:"return"`
	Ended   string      `json:"ended"`
	Bodies  int         `json:"bodies"`
	Shapes  []pageShape `json:"shapes"`
	Camera  pageCamera  `json:"camera"`
	Tile    float64     `json:"tile"`
	Actions pageActions `json:"actions"`

	Poses   string `json:"poses"`   // [T + 1][bodies][7] of little-endian float32 in base 64: position, quaternion w x y z
	Path    string `json:"path"`    // [T + 1][2]: the position that the camera follows
	Values  string `json:"values"`  // [T][A][dimensions]: actions of each seat
	Rewards string `json:"rewards"` // [T]
	Returns string `json:"returns"` // [T]
	Seats   string `json:"seats"`   // [T][A]: returns of each seat; "": there is one
}

type pageShape struct {
	Name  string     `json:"name"`
	Body  int        `json:"body"`
	Form  string     `json:"form"`
	Size  [3]float64 `json:"size"`
	Pos   [3]float64 `json:"pos"`
	Rot   [4]float64 `json:"rot"`
	Color [4]float64 `json:"color"`
}

type pageCamera struct {
	Body      int        `json:"body"`
	LookAt    [3]float64 `json:"lookat"`
	Distance  float64    `json:"distance"`
	Azimuth   float64    `json:"azimuth"`
	Elevation float64    `json:"elevation"`
}

// pageActions describes actions: the names of a discrete space's actions, or of a box's dimensions and their bounds, of one seat.
type pageActions struct {
	Seats    int       `json:"seats"`
	Discrete bool      `json:"discrete"`
	Names    []string  `json:"names"`
	Low      []float64 `json:"low"`
	High     []float64 `json:"high"`
}

func (s *Show) data() pageData {
	g, e := s.env.Geometry, s.episode
	d := pageData{
		Step: s.step, Steps: len(e.Actions), Length: e.Steps, Return: number(e.Return()),
		Bodies: len(g.Bodies), Actions: s.actions(), Tile: tileEdge(g.Camera.Distance),
		Camera: pageCamera{g.Camera.Body, g.Camera.LookAt, g.Camera.Distance, g.Camera.Azimuth, g.Camera.Elevation},
	}
	switch {
	case e.Done&envs.Terminated != 0:
		d.Ended = "terminated"
	case e.Done&envs.Truncated != 0:
		d.Ended = "time limit"
	}
	for _, shape := range g.Shapes {
		rot := shape.On(envs.Pose{}).Rot // of length 1
		d.Shapes = append(d.Shapes, pageShape{shape.Name, shape.Body, shape.Form.String(), shape.Size, shape.Pos, rot, shape.Color})
	}
	var poses, path, values, seats []float32
	for i, bodies := range s.poses {
		for _, b := range bodies {
			rot := b.On(envs.Pose{}).Rot
			for _, v := range append(b.Pos[:], rot[:]...) {
				poses = append(poses, float32(v))
			}
		}
		path = append(path, float32(s.path[i][0]), float32(s.path[i][1]))
	}
	for _, a := range e.Actions {
		values = append(values, a...)
	}
	for _, sums := range e.Seats {
		seats = append(seats, sums...)
	}
	d.Seats = pack(seats)
	d.Poses, d.Path, d.Values, d.Rewards, d.Returns = pack(poses), pack(path), pack(values), pack(e.Rewards), pack(e.Returns)
	return d
}

// actions returns the names and bounds of actions. If the environment has no bounds, they are taken from the episode.
func (s *Show) actions() pageActions {
	space := s.env.Action
	a := pageActions{Seats: s.env.Seats(), Discrete: space.IsDiscrete(), Names: s.env.Geometry.Actions, Low: []float64{}, High: []float64{}}
	for i := range space.Size() {
		if len(a.Names) <= i {
			a.Names = append(a.Names[:i:i], fmt.Sprint(i))
		}
		if a.Discrete {
			continue
		}
		low, high := float64(space.Low[i]), float64(space.High[i])
		if !finite(low, high) {
			low, high = -1, 1
			for _, values := range s.episode.Actions {
				for at := i; at < len(values); at += space.Size() {
					if v := float64(values[at]); finite(v) {
						low, high = min(low, v), max(high, v)
					}
				}
			}
		}
		a.Low, a.High = append(a.Low, low), append(a.High, high)
	}
	return a
}

// number formats a float32 with as many digits as identify it, or null if it is not finite.
func number(x float32) json.Number {
	if !finite(float64(x)) {
		return "null"
	}
	text, _ := json.Marshal(x) // a finite number is one
	return json.Number(text)
}

func pack(values []float32) string {
	out := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v))
	}
	return base64.StdEncoding.EncodeToString(out)
}
