package view

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evorl/evorl/envs"
)

// walk returns an episode of a few actions in which everything moves.
func walk(t *testing.T, name string, actions int) (*Show, *envs.Episode) {
	t.Helper()
	env, err := envs.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	e := &envs.Episode{Member: 2, Steps: actions, Done: envs.Truncated}
	ret := float32(0)
	for i := range actions + 1 {
		state := make([]float32, env.StateSize())
		for k := range state {
			state[k] = float32(math.Sin(0.1*float64(i) + float64(k)))
		}
		e.States = append(e.States, state)
		if i == actions {
			break
		}
		action := make([]float32, env.Seats()*env.ActionWords())
		if !env.Action.IsDiscrete() {
			for k := range action {
				action[k] = float32(math.Cos(float64(i + k)))
			}
		}
		ret += 0.1 * float32(i)
		if n := env.Seats(); n > 1 {
			e.Seats = append(e.Seats, slices.Repeat([]float32{ret}, n))
		}
		e.Actions, e.Rewards, e.Returns = append(e.Actions, action), append(e.Rewards, 0.1*float32(i)), append(e.Returns, ret)
	}
	s, err := New(env, e, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s, e
}

var script = regexp.MustCompile(`(?s)<script type="application/json" id="episode">(.*?)</script>\s*<script>(.*?)</script>`)

// TestPage: the page contains the episode unchanged, loads nothing else, and its script is JavaScript.
func TestPage(t *testing.T) {
	for _, name := range envs.Names() {
		s, e := walk(t, name, 7)
		s.Caption = `</script><b>"a" & b`
		var b bytes.Buffer
		if err := s.WritePage(&b); err != nil {
			t.Fatal(err)
		}
		parts := script.FindStringSubmatch(b.String())
		if parts == nil {
			t.Fatalf("%s: no episode in the page", name)
		}
		var d pageData
		decoder := json.NewDecoder(strings.NewReader(parts[1]))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := d.Return.Float64(); err != nil || float32(got) != e.Return() || d.Steps != 7 || d.Length != 7 || d.Ended != "time limit" {
			t.Errorf("%s: return %v, %d steps, %q; want %v, 7", name, d.Return, d.Steps, d.Ended, e.Return())
		}
		if !slices.Equal(unpack(t, d.Returns), e.Returns) || !slices.Equal(unpack(t, d.Rewards), e.Rewards) ||
			!slices.Equal(unpack(t, d.Values), slices.Concat(e.Actions...)) {
			t.Errorf("%s: returns, rewards or actions differ from the episode's", name)
		}
		g := s.env.Geometry
		poses := unpack(t, d.Poses)
		if len(poses) != 8*7*len(g.Bodies) || len(unpack(t, d.Path)) != 16 || len(d.Shapes) != len(g.Shapes) || len(d.Actions.Names) != s.env.Action.Size() {
			t.Fatalf("%s: %d numbers of poses, %d shapes, actions %v", name, len(poses), len(d.Shapes), d.Actions)
		}
		for i, state := range e.States {
			for body, p := range g.Poses(state) {
				for k, v := range p.Pos {
					if got := poses[7*(i*len(g.Bodies)+body)+k]; got != float32(v) {
						t.Fatalf("%s: state %d: body %d is at %v; want %v", name, i, body, got, v)
					}
				}
			}
		}
		outside := regexp.MustCompile(`(?i)(src|href)\s*=|https?:|@import|fetch\(|XMLHttpRequest|import\(`)
		if bytes.Contains(b.Bytes(), []byte("</script><b>")) || outside.Match(b.Bytes()) {
			t.Errorf("%s: the page asks for something outside", name)
		}
	}
}

// TestPageScript: the script parses, if a JavaScript engine is installed.
func TestPageScript(t *testing.T) {
	scripts := map[string]string{"solids.js": solidsJS, "scene.js": sceneJS, "panel.js": panelJS}
	for name, text := range scripts {
		for _, pair := range [][2]string{{"{", "}"}, {"(", ")"}, {"[", "]"}} {
			if a, b := strings.Count(text, pair[0]), strings.Count(text, pair[1]); a != b {
				t.Errorf("%s has %d %s and %d %s", name, a, pair[0], b, pair[1])
			}
		}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Log("no node here; only brackets were counted")
		return
	}
	for name := range scripts {
		if out, err := exec.Command(node, "--check", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	// The page's own functions that need no browser.
	check := `const episode = {camera: {distance: 3}}; ` + solidsJS[strings.Index(solidsJS, "// Vectors and matrices"):] + `
const m = product(placed([1, 2, 3], [Math.SQRT1_2, 0, 0, Math.SQRT1_2]), placed([1, 0, 0], [1, 0, 0, 0]));
const ends = shape => {
  const c = mesh(shape);
  let most = [0, 0, 0], normals = 0;
  for (let i = 0; i < c.length; i += 6) {
    for (let k = 0; k < 3; k++) most[k] = Math.max(most[k], Math.abs(c[i + k]));
    normals = Math.max(normals, Math.abs(Math.hypot(c[i + 3], c[i + 4], c[i + 5]) - 1));
  }
  return [...most, normals, c.length % 18];
};
console.log(JSON.stringify([Array.from(m).slice(12),
  ends({form: "capsule", size: [1, 2, 0]}), ends({form: "box", size: [1, 2, 3]}), ends({form: "cylinder", size: [1, 2, 0]}),
  ends({form: "sphere", size: [2, 0, 0]}), ends({form: "ellipsoid", size: [1, 2, 3]})]));`
	out, err := exec.Command(node, "-e", check).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got [][]float64
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err, string(out))
	}
	want := [][]float64{{1, 3, 3, 1}, {1, 1, 3, 0, 0}, {1, 2, 3, 0, 0}, {1, 1, 2, 0, 0}, {2, 2, 2, 0, 0}, {1, 2, 3, 0, 0}}
	for i := range want {
		for k := range want[i] {
			if math.Abs(got[i][k]-want[i][k]) > 1e-6 {
				t.Errorf("%d: %v; want %v", i, got[i], want[i])
			}
		}
	}
}

func unpack(t *testing.T, text string) []float32 {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(data)/4)
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPictures: PNG and GIF can be decoded, and the combined GIF frames are close to the drawn ones.
func TestPictures(t *testing.T) {
	s, _ := walk(t, "Hopper-v5", 50)
	p := Picture{At: 0.1, Seconds: 0.2, Width: 96, Height: 64}
	var b bytes.Buffer
	if err := s.WritePNG(&b, p); err != nil {
		t.Fatal(err)
	}
	still, err := png.Decode(&b)
	if err != nil || still.Bounds() != image.Rect(0, 0, 96, 64) {
		t.Fatal(err, still.Bounds())
	}
	b.Reset()
	if err := s.WriteGIF(&b, p); err != nil {
		t.Fatal(err)
	}
	moving, err := gif.DecodeAll(&b)
	if err != nil {
		t.Fatal(err)
	}
	if len(moving.Image) != 5 || moving.Config.Width != 96 || moving.Config.Height != 64 || moving.Delay[0] != 5 {
		t.Fatalf("%d frames of %d × %d, delay %v; want 5 of 96 × 64, 5 hundredths", len(moving.Image), moving.Config.Width, moving.Config.Height, moving.Delay)
	}
	shown := image.NewRGBA(image.Rect(0, 0, 96, 64))
	for i, f := range moving.Image {
		for y := f.Rect.Min.Y; y < f.Rect.Max.Y; y++ {
			for x := f.Rect.Min.X; x < f.Rect.Max.X; x++ {
				if c := color.RGBAModel.Convert(f.At(x, y)).(color.RGBA); c.A > 0 {
					shown.SetRGBA(x, y, c)
				}
			}
		}
		drawn := s.frame(p, p.At+frameTime*float64(i), movingSamples)
		sum := 0.0
		for k := range shown.Pix {
			sum += math.Abs(float64(shown.Pix[k]) - float64(drawn.Pix[k]))
		}
		if mean := sum / float64(len(shown.Pix)); !(mean < 3) {
			t.Errorf("frame %d differs by %g of 255 on average", i, mean)
		}
	}
}

// TestShows: what is in front is visible, at the position given by the camera, and casts a shadow.
func TestShows(t *testing.T) {
	ball := envs.Shape{Name: "ball", Body: 1, Form: envs.SphereShape, Size: [3]float64{0.5}, Color: [4]float64{1, 0, 0, 1}}
	floor := envs.Shape{Name: "floor", Form: envs.PlaneShape, Color: [4]float64{1, 1, 1, 1}}
	env := &envs.Environment{Spec: envs.Spec{Name: "Ball", State: []string{"x"}, Action: envs.Discrete(2), Geometry: &envs.Geometry{
		Bodies: []string{"world", "ball"}, Shapes: []envs.Shape{floor, ball}, Time: 1,
		Poses: func(state []float32) []envs.Pose {
			return []envs.Pose{{}, {Pos: [3]float64{float64(state[0]), 0, 1}}}
		},
		Camera: envs.Camera{LookAt: [3]float64{0, 0, 1}, Distance: 5, Azimuth: 90, Elevation: -30},
	}}}
	nan := float32(math.NaN())
	show := func(x float32) *image.RGBA {
		s, err := New(env, &envs.Episode{States: [][]float32{{x}, {x}}, Actions: [][]float32{{0}}, Rewards: []float32{0}, Returns: []float32{0}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		return s.Draw(0, 90, 60, 2)
	}
	red := func(c color.RGBA) bool { return c.R > 90 && int(c.R) > 2*int(c.G) && int(c.R) > 2*int(c.B) }
	empty := show(nan) // a body with a non-finite position is not drawn
	middle := show(0)
	if !red(middle.RGBAAt(45, 30)) || red(empty.RGBAAt(45, 30)) {
		t.Errorf("in the middle is %v with the ball there, %v without", middle.RGBAAt(45, 30), empty.RGBAAt(45, 30))
	}
	right := show(1)
	if red(right.RGBAAt(45, 30)) || !red(right.RGBAAt(59, 30)) {
		t.Errorf("a ball at x = 1: %v in the middle, %v to the right", right.RGBAAt(45, 30), right.RGBAAt(59, 30))
	}
	// The sun stands to the left, in front and above: the shadow of (0, 0, 1) is at (0.44, 0.65, 0).
	e := (&Show{env: env}).eye([2]float64{}, 90, 60)
	to := vec{0.442, 0.653, 0}.sub(e.at)
	x, y := int(45+e.right.dot(to)/e.forward.dot(to)*e.focal), int(30-e.up.dot(to)/e.forward.dot(to)*e.focal)
	if a, b := middle.RGBAAt(x, y), empty.RGBAAt(x, y); !(int(a.G)+25 < int(b.G)) && !red(a) {
		t.Errorf("at %d, %d the ground is %v with the ball above, %v without", x, y, a, b)
	}
}

// TestSolids: rays hit every form at its surface, and miss it elsewhere.
func TestSolids(t *testing.T) {
	pose := envs.Pose{Pos: [3]float64{1, -2, 0.5}, Rot: [4]float64{0.9, 0.1, -0.3, 0.2}}
	inside := map[envs.Form]func(p vec) float64{ // below 1 inside, above outside
		envs.SphereShape: func(p vec) float64 { return p.length() / 0.7 },
		envs.CapsuleShape: func(p vec) float64 {
			return p.sub(vec{0, 0, min(max(p[2], -0.4), 0.4)}).length() / 0.7
		},
		envs.CylinderShape:  func(p vec) float64 { return max(math.Hypot(p[0], p[1])/0.7, math.Abs(p[2])/0.4) },
		envs.BoxShape:       func(p vec) float64 { return max(math.Abs(p[0])/0.7, math.Abs(p[1])/0.4, math.Abs(p[2])/0.9) },
		envs.EllipsoidShape: func(p vec) float64 { return vec{p[0] / 0.7, p[1] / 0.4, p[2] / 0.9}.length() },
	}
	for form, f := range inside {
		list := solids([]envs.Shape{{Form: form, Size: [3]float64{0.7, 0.4, 0.9}, Color: [4]float64{1, 1, 1, 1}}}, []envs.Pose{pose})
		s := &list[0]
		hits := 0
		for i := range 400 {
			a, b := float64(i), float64(i)*2.399963
			from := s.pos.add(vec{3 * math.Cos(a) * math.Cos(b), 3 * math.Sin(a) * math.Cos(b), 3 * math.Sin(b)})
			aim := s.pos.add(vec{0.9 * math.Sin(7*a), 0.9 * math.Cos(5*b), 0.9 * math.Sin(3*a+b)})
			along := aim.sub(from).unit()
			at, n := s.hit(from, along)
			first := far // by small steps
			for d := 0.0; d < 6; d += 0.002 {
				if f(s.axes.in(from.add(along.mul(d)).sub(s.pos))) < 1 {
					first = d
					break
				}
			}
			if (at < far) != (first < far) && first >= far {
				if f(s.axes.in(from.add(along.mul(at)).sub(s.pos))) > 1+1e-9 {
					t.Errorf("%v: a ray that passes by is met at %g", form, at)
				}
				continue // it only grazes the solid
			}
			if at < far {
				hits++
				on := s.axes.in(from.add(along.mul(at)).sub(s.pos))
				if math.Abs(f(on)-1) > 1e-9 || math.Abs(at-first) > 0.003 || math.Abs(n.length()-1) > 1e-9 || n.dot(along) > 1e-9 {
					t.Errorf("%v: ray %d meets it at %g with normal %v, by steps at %g", form, i, at, n, first)
				}
				if out := s.axes.in(n).mul(1e-6).add(on); f(out) <= 1 {
					t.Errorf("%v: ray %d: the normal points inwards", form, i)
				}
			} else if first < far {
				t.Errorf("%v: ray %d passes by; by steps it meets at %g", form, i, first)
			}
		}
		if hits < 50 {
			t.Errorf("%v: only %d of 400 rays meet it", form, hits)
		}
	}
}

// TestSeats: the page has every seat's actions and returns apart.
func TestSeats(t *testing.T) {
	env := &envs.Environment{Spec: envs.Spec{
		Name: "Pair", Agents: 2, State: []string{"x"}, Action: envs.Box([]float32{-1, -2, -3}, []float32{1, 2, 3}), Geometry: &envs.Geometry{
			Bodies: []string{"world"}, Poses: func([]float32) []envs.Pose { return []envs.Pose{{}} }, Camera: envs.Camera{Distance: 3}, Time: 1,
		},
	}}
	e := &envs.Episode{
		States: [][]float32{{0}, {1}, {2}}, Actions: [][]float32{{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}}, Rewards: []float32{0, 1}, Returns: []float32{0, 1},
		Seats: [][]float32{{1, -1}, {3, -1}}, Steps: 2,
	}
	s, err := New(env, e, 1)
	if err != nil {
		t.Fatal(err)
	}
	d := s.data()
	if got, want := unpack(t, d.Seats), []float32{1, -1, 3, -1}; !slices.Equal(got, want) || d.Actions.Seats != 2 {
		t.Errorf("returns %v of %d seats; want %v of 2", got, d.Actions.Seats, want)
	}
	var page strings.Builder
	if err := s.WritePage(&page); err != nil || !strings.Contains(page.String(), "<h2>return, mean of the seats</h2>") {
		t.Errorf("the page does not say that it shows means (%v)", err)
	}
	for what, spoil := range map[string]func(*envs.Episode){
		"no seats":          func(e *envs.Episode) { e.Seats = nil },
		"a seat too few":    func(e *envs.Episode) { e.Seats = [][]float32{{1, 2}, {3}} },
		"one seat's action": func(e *envs.Episode) { e.Actions = [][]float32{{1, 2, 3, 4, 5, 6}, {7, 8, 9}} },
	} {
		bad := *e
		spoil(&bad)
		if _, err := New(env, &bad, 1); err == nil || !strings.Contains(err.Error(), "Pair") {
			t.Errorf("%s: %v", what, err)
		}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return
	}
	function := panelJS[strings.Index(panelJS, "function acted("):strings.Index(panelJS, "function extent(")]
	out, err := exec.Command(node, "-e", function+`
const box = acted([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], { seats: 2, names: ["a", "b", "c"], discrete: false }, 2);
const one = acted([1, 0, 1, 1], { seats: 2, names: ["left", "right"], discrete: true }, 2);
console.log(JSON.stringify([...box, ...one].map(a => a.title + " " + a.series)));`).Output()
	const want = `["seat 0: a 1,7","seat 0: b 2,8","seat 0: c 3,9","seat 1: a 4,10","seat 1: b 5,11","seat 1: c 6,12",` +
		`"seat 0: left 0,0","seat 0: right 1,1","seat 1: left 1,0","seat 1: right 0,1"]`
	if err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("%v\n%s; want\n%s", err, out, want)
	}
}

// TestNewRefuses: episodes and environments that cannot be shown give errors.
func TestNewRefuses(t *testing.T) {
	env, err := envs.Lookup("Hopper-v5")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(env, &envs.Episode{States: [][]float32{{1}}}, 1); err == nil || !strings.Contains(err.Error(), "Hopper-v5") {
		t.Errorf("a state of one number: %v", err)
	}
	bare := &envs.Environment{Spec: env.Spec}
	bare.Geometry = nil
	if _, err := New(bare, &envs.Episode{States: [][]float32{make([]float32, 18)}}, 1); err == nil || !strings.Contains(err.Error(), "no Geometry") {
		t.Errorf("no geometry: %v", err)
	}
}
