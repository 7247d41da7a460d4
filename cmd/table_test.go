package cmd

import "testing"

func TestNumbersInTables(t *testing.T) {
	for x, want := range map[float64]string{
		0.99: "0.990", 0.99456: "0.9946", 0.999994: "0.9999940", 0.25: "0.25", 2.38712: "2.387", 0.00034123: "0.000341", 1.3e-6: "1.3e-06", 1: "1", 0: "0",
	} {
		if got := hyper(x); got != want {
			t.Errorf("hyperparameter %v: %s; want %s", x, got, want)
		}
	}
	for x, want := range map[float64]string{
		-997.04: "-997.0", 0: "0.0", 0.06: "0.06", 0.9821: "0.9821", 0.821: "0.821", -0.5: "-0.5", -0.04: "-0.04", -1.26e-14: "-1.3e-14",
	} {
		if got := short(x); got != want {
			t.Errorf("return %v: %s; want %s", x, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := thousands(n); got != want {
			t.Errorf("count %d: %s; want %s", n, got, want)
		}
	}
	for s, want := range map[float64]string{0.04: "0.0s", 59.94: "59.9s", 61.2: "1m1s", 7384: "2h3m4s"} {
		if got := clock(s); got != want {
			t.Errorf("%v seconds: %s; want %s", s, got, want)
		}
	}
}
