package machines

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/evorl/evorl/engine/rundir"
	"github.com/evorl/evorl/vk"
)

// Identity is what decides about a worker's bits: programs and devices with the same one compute the same.
type Identity struct {
	Version   string // of the program
	Processor string // its architecture, which rounds on the host
	Device    string
	Driver    string
	API       string
	Subgroup  uint32
}

// IdentityOf returns the identity of this program on a device.
func IdentityOf(i vk.Info) Identity {
	return Identity{Version: version(), Processor: runtime.GOARCH, Device: i.Name, Driver: i.Driver, API: i.API.String(), Subgroup: i.SubgroupSize}
}

// version tells programs apart: those that were built from changed or unknown files by their digest.
var version = sync.OnceValue(func() string {
	name := rundir.Version()
	if name != "devel" && !strings.HasSuffix(name, "+changes") {
		return name
	}
	path, err := os.Executable()
	if err != nil {
		return name
	}
	f, err := os.Open(path)
	if err != nil {
		return name
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return name
	}
	return name + " " + hex.EncodeToString(h.Sum(nil))[:12]
})

// differs says in what an identity differs from the run's; "": in nothing.
func (i Identity) differs(run Identity) string {
	for _, of := range []struct{ what, is, want string }{
		{"evorl", i.Version, run.Version}, {"the processor", i.Processor, run.Processor}, {"the device", i.Device, run.Device}, {"the driver", i.Driver, run.Driver},
		{"Vulkan", i.API, run.API}, {"the subgroup", fmt.Sprint(i.Subgroup), fmt.Sprint(run.Subgroup)},
	} {
		if of.is != of.want {
			return fmt.Sprintf("%s of the worker is %q, and of the run %q", of.what, of.is, of.want)
		}
	}
	return ""
}
