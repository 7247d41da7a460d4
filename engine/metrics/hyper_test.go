package metrics

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TensorBoard itself (2.21) was seen to list such files as sessions; here the bytes are held to its messages.
func TestWriteHyper(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "members", "07")
	if err := WriteHyper(dir, 4096, map[string]float64{"learning_rate": 0.25, "discount": 0.5}, map[string]float64{"return": 21.5}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	got := describe(t, content)
	want := []string{
		`^1=\S+ 2=0 3="brain.Event:2"$`,
		`^1=\S+ 2=0 summary\{value\{1="_hparams_/session_start_info" metadata\{plugin\{1="hparams" hparams\{start\{` +
			`hyper\{1="discount" number\{2=0.50\}\} hyper\{1="learning_rate" number\{2=0.25\}\} 5=\d+\.\d\d\}\}\}\}\}\}$`,
		`^1=\S+ 2=4096 summary\{value\{1="return" 2=21.5\}\}$`,
		`^1=\S+ 2=4096 summary\{value\{1="_hparams_/session_end_info" metadata\{plugin\{1="hparams" hparams\{end\{1=1 2=\d+\.\d\d\}\}\}\}\}\}$`,
	}
	if len(got) != len(want) {
		t.Fatalf("events %q; want %d", got, len(want))
	}
	for i := range want {
		if !regexp.MustCompile(want[i]).MatchString(got[i]) {
			t.Errorf("event %s; want %s", got[i], want[i])
		}
	}
	if err := WriteHyper(filepath.Join(files[0], "below"), 0, nil, nil); err == nil {
		t.Error("no error for a folder below a file")
	}
}
