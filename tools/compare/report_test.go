package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestReportByDevice(t *testing.T) {
	on := func(name, driver string) record {
		return record{Machine: &machine{Device: device{Name: name, Driver: driver}, Processor: "Abacus"}}
	}
	figure := func(value int) record {
		return record{Part: "bench ppo", Line: json.RawMessage(fmt.Sprintf(`{"case": "ppo/p1", "suite": "core", "value": %d, "unit": "env steps/s"}`, value))}
	}
	peer := record{Part: "jax ppo p1", Line: json.RawMessage(`{"steps_per_second": 100}`)}
	text := report([]record{
		on("Voodoo", "1.0"), figure(300), peer, on("llvmpipe", "2.0"), figure(200), on("Voodoo", "1.1"), figure(400), on("Voodoo", "1.0"), figure(500),
	})
	sections := strings.Split(text, "\n## ")
	if len(sections) != 4 {
		t.Fatalf("%d sections; want 3 after the title:\n%s", len(sections), text)
	}
	for i, want := range [][]string{
		{"Voodoo, driver 1.0\n", "| core | ppo/p1 | 500 env steps/s |", "| 500 env steps/s | 100 env steps/s | 5 × |"},
		{"llvmpipe, driver 2.0\n", "| core | ppo/p1 | 200 env steps/s |"},
		{"Voodoo, driver 1.1\n", "| core | ppo/p1 | 400 env steps/s |"},
	} {
		for _, w := range want {
			if !strings.Contains(sections[i+1], w) {
				t.Errorf("no %q in section %d:\n%s", w, i, sections[i+1])
			}
		}
		if beside := strings.Contains(sections[i+1], "Beside peers"); beside != (i == 0) {
			t.Errorf("section %d has a table of peers: %v", i, beside)
		}
	}
}

func TestNoRatio(t *testing.T) {
	for want, peer := range map[string]string{
		"| 3 × |": `{"steps_per_second": 100, "platform": "gpu", "finite": true}`,
		"| none: the peer ran on the processor |":                              `{"steps_per_second": 100, "platform": "cpu"}`,
		"| none: the peer's results are not finite |":                          `{"steps_per_second": 100, "platform": "gpu", "finite": false}`,
		"| 300 env steps/s (290 to 310) | 100 env steps/s (90 to 110) | 3 × |": `{"steps_per_second": 100, "samples": [110, 90, 100]}`,
		"| 0 env steps/s | none: no figure |":                                  `{"platform": "gpu"}`,
		"| 100 env steps/s | 3 × | precision highest | ":                       `{"steps_per_second": 100, "precision": "highest"}`,
	} {
		text := report([]record{
			{Machine: &machine{Device: device{Name: "Voodoo", Type: "discrete"}}},
			{Part: "bench ppo", Line: json.RawMessage(`{"case": "ppo/p1", "suite": "core", "value": 300, "min": 290, "max": 310, "unit": "env steps/s"}`)},
			{Part: "jax ppo p1", Line: json.RawMessage(peer)},
		})
		if !strings.Contains(text, want) || strings.Contains(text, "Inf") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestReportOfLittle(t *testing.T) {
	text := report([]record{
		{Part: "bench core", Line: json.RawMessage(`{"case": "fma_peak", "value": 12345, "unit": "GFLOP/s"}`)},
		{Part: "jax ppo p1", Line: json.RawMessage(`[]`)},
	})
	if !strings.Contains(text, "12.3k GFLOP/s") || strings.Contains(text, "Beside") {
		t.Error(text)
	}
}
