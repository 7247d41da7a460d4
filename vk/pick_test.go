package vk

import (
	"errors"
	"strings"
	"testing"
)

// The default is a GPU by its own driver, then one by a driver that translates, then a software driver, as far as they suit.
func TestPick(t *testing.T) {
	device := func(index int, name string, typ DeviceType, translated bool) *physical {
		return &physical{api: uint32(MakeVersion(1, 3, 0)), info: Info{Index: index, Name: name, Type: typ, Translated: translated}}
	}
	software := device(0, "llvmpipe", CPU, false)
	dozen := device(1, "Microsoft Direct3D12 (AMD Radeon(TM) Graphics)", IntegratedGPU, true)
	radeon := device(2, "AMD Radeon(TM) Graphics", IntegratedGPU, false)
	old := device(3, "V3D", IntegratedGPU, false)
	suits := func(info Info) string {
		if info.Name == "V3D" {
			return "kernel x needs shuffles"
		}
		return ""
	}
	for _, c := range []struct {
		name string
		cfg  config
		all  []*physical
		want *physical // nil: an error
	}{
		{"own driver before a translation", config{}, []*physical{software, dozen, radeon}, radeon},
		{"own driver by name", config{name: "radeon"}, []*physical{dozen, radeon}, radeon},
		{"translation by name", config{name: "direct3d12"}, []*physical{radeon, dozen}, dozen},
		{"translation before software", config{}, []*physical{software, dozen}, dozen},
		{"first of equals", config{}, []*physical{old, radeon}, old},
		{"one that does not suit is passed over", config{suits: suits}, []*physical{old, software}, software},
		{"one that does not suit by name", config{suits: suits, name: "v3d"}, []*physical{old, software}, nil},
		{"one that does not suit by index", config{suits: suits, indexed: true}, []*physical{old, software}, nil},
		{"none suits", config{suits: suits}, []*physical{old}, nil},
	} {
		got, err := pick(&c.cfg, c.all)
		if got != c.want {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
		if c.want == nil && (!errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "shuffles")) {
			t.Errorf("%s: error %v; want ErrNoDevice and the reason", c.name, err)
		}
	}
}
