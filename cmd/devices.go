package cmd

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evorl/evorl/engine"
	"github.com/evorl/evorl/vk"
)

// deviceInfo is the JSON form of a device.
type deviceInfo struct {
	Index        int      `json:"index"`
	Name         string   `json:"name"`
	Vendor       string   `json:"vendor"`
	Type         string   `json:"type"` // integrated, discrete, virtual, cpu, other
	Driver       string   `json:"driver"`
	API          string   `json:"api"`
	MemoryBytes  uint64   `json:"memory_bytes"`
	Unified      bool     `json:"unified_memory"`
	ResizableBAR bool     `json:"resizable_bar"`
	PCI          string   `json:"pci"` // address on the bus; "": unknown
	SubgroupSize uint32   `json:"subgroup_size"`
	Subgroups    []uint32 `json:"subgroup_sizes"` // smallest and largest that a kernel can request
	Features     []string `json:"features"`       // optional ones, all enabled
	Missing      []string `json:"missing"`        // features that kernels need and the device lacks; empty: all kernels run on it
}

func newDevices() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "devices",
		Short:   "List what there is to compute on",
		Example: "  evorl devices --json",
		Args:    between(0, 0, "want no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := vk.Devices()
			if err != nil {
				return err
			}
			list := []deviceInfo{}
			var b strings.Builder
			for i, d := range found {
				missing, err := engine.Missing(d)
				if err != nil {
					return err
				}
				list = append(list, deviceInfo{
					d.Index, d.Name, d.Vendor, d.Type.String(), d.Driver, d.API.String(), d.MemoryBytes, d.Unified, d.ResizableBAR, d.PCI,
					d.SubgroupSize, []uint32{d.MinSubgroupSize, d.MaxSubgroupSize}, d.Features.Names(), append([]string{}, missing...),
				})
				if i > 0 {
					b.WriteByte('\n')
				}
				writeDevice(&b, d, missing)
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(list)
			}
			_, err = cmd.OutOrStdout().Write([]byte(b.String()))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one line of JSON: an array")
	return cmd
}

func writeDevice(b *strings.Builder, d vk.Info, missing []string) {
	memory := vk.ByteSize(d.MemoryBytes)
	switch {
	case d.Unified:
		memory += ", shared with the host"
	case d.ResizableBAR:
		memory += ", all of it open to the host"
	}
	subgroup := fmt.Sprint(d.SubgroupSize)
	if d.MinSubgroupSize != d.MaxSubgroupSize {
		subgroup += fmt.Sprintf(" (%d to %d)", d.MinSubgroupSize, d.MaxSubgroupSize)
	}
	fmt.Fprintf(b, "%d  %s\n", d.Index, d.Name)
	for _, fact := range [][2]string{
		{"type", map[bool]string{true: d.Type.String() + " GPU", false: "software driver"}[d.Type.GPU()]},
		{"vendor", d.Vendor}, {"driver", d.Driver}, {"Vulkan", d.API.String()}, {"PCI", d.PCI}, {"memory", memory}, {"subgroup", subgroup},
		{"features", strings.Join(d.Features.Names(), ", ")},
	} {
		if fact[1] == "" {
			continue // unknown
		}
		fmt.Fprintf(b, "   %-9s %s\n", fact[0], fact[1])
	}
	for _, m := range missing {
		fmt.Fprintf(b, "   %-9s %s\n", "missing", m)
	}
}
