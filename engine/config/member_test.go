package config

import (
	"reflect"
	"strings"
	"testing"
)

// TestMemberFields: the tag member marks the fields that each member has for itself, with the default prior; a tag that cannot be read, or
// one of a field that is no number, is an error.
func TestMemberFields(t *testing.T) {
	type settings struct {
		Rate  float64 `above:"0" max:"1" member:"log_uniform 3e-5 3e-3"`
		Other float64
		Free  float64 `member:""`
	}
	got, err := MemberFields(settings{Rate: 0.5})
	if err != nil || len(got) != 2 || got[0].Name != "rate" || got[1].Name != "free" {
		t.Fatalf("member fields %+v, %v; want rate and free", got, err)
	}
	if want := (Member{"log_uniform", 3e-5, 3e-3}); !reflect.DeepEqual(*got[0].Member, want) || *got[1].Member != (Member{}) {
		t.Errorf("tags %+v and %+v; want %+v and none", *got[0].Member, *got[1].Member, want)
	}
	for x, want := range map[float64]string{0: "above 0 and at most 1", 1e-3: "", 1: "", 2: "above 0 and at most 1"} {
		if outside := got[0].Want(x); outside != want {
			t.Errorf("%g should be %q; want %q", x, outside, want)
		}
	}
	for _, c := range []struct {
		of   any
		want string
	}{
		{struct {
			A string `member:"uniform 0 1"`
		}{}, "for numbers, not string"},
		{struct {
			A float64 `member:"uniform 0"`
		}{}, "want a prior, a low and a high"},
		{struct {
			A float64 `member:"uniform 0 x"`
		}{}, "invalid syntax"},
		{struct {
			A float64 `member:"uniform 1 0"`
		}{}, "low at most high"},
	} {
		if _, err := MemberFields(c.of); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: error %v; want %q in it", c.of, err, c.want)
		}
	}
}

// TestOverridesAlone: a document without a file reports mistakes under its name.
func TestOverridesAlone(t *testing.T) {
	d, err := Overrides("New", Override{Flag: "New", Text: "env=CartPol"})
	if err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"New: unknown environment \"CartPol\"\n  env=CartPol\n      ^^^^^^^\ndid you mean \"CartPole-v1\"?": d.UnknownValue("env", "environment",
			[]string{"CartPole-v1"}),
		"New: \"ppo.members\": too few": d.Errorf("ppo.members", "too few"),
	} {
		if err.Error() != want {
			t.Errorf("error\n%v\nwant\n%s", err, want)
		}
	}
}
