package metrics

import (
	"math"
	"strings"
	"testing"
)

func TestWriteCSV(t *testing.T) {
	var b strings.Builder
	err := WriteCSV(&b, []Record{
		{Iteration: 1, EnvSteps: 64, Seconds: 0.25, Values: map[string]float64{"return/mean": 21.5, `odd,"name"`: math.Inf(1)}},
		{Iteration: 2, EnvSteps: 1 << 60, Seconds: 1e-7, Values: map[string]float64{"loss": math.NaN(), "return/mean": -1e300}},
	})
	want := `iteration,env_steps,seconds,loss,"odd,""name""",return/mean
1,64,0.25,,+Inf,21.5
2,1152921504606846976,1e-07,NaN,,-1e+300
`
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
	b.Reset()
	if err := WriteCSV(&b, nil); err != nil || b.String() != "iteration,env_steps,seconds\n" {
		t.Errorf("without records: %v, %q", err, b.String())
	}
}
