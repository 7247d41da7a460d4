package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/evorl/evorl/internal/host"
)

// device is a device as listed by evorl devices.
type device struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`
	Type   string `json:"type"` // cpu: a software driver
	Driver string `json:"driver"`
	API    string `json:"api"`
}

func (d device) gpu() bool { return d.Type != "cpu" && d.Type != "other" }

// machine describes where and when figures were measured.
type machine struct {
	Date      time.Time `json:"date"`
	Device    device    `json:"device"`
	Evorl     string    `json:"evorl"` // version
	System    string    `json:"system"`
	Processor string    `json:"processor"`
	Cores     int       `json:"cores"`
	Load      string    `json:"load"` // averages over 1, 5 and 15 minutes, before the first part
}

// findDevice selects a device as evorl does: by index or part of a name, else the first GPU, else the first device.
func findDevice(ctx context.Context, bin, want string) (device, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "evorl"), "devices", "--json").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = errors.New(strings.TrimSpace(string(exit.Stderr)))
		}
		return device{}, fmt.Errorf("evorl devices: %w", err)
	}
	var found []device
	if err := json.Unmarshal(out, &found); err != nil {
		return device{}, fmt.Errorf("evorl devices: %w", err)
	}
	return pick(found, want)
}

func pick(found []device, want string) (device, error) {
	var names []string
	n, err := strconv.Atoi(want)
	for _, d := range found {
		switch {
		case want == "" && d.gpu(), want != "" && err == nil && d.Index == n,
			want != "" && err != nil && strings.Contains(strings.ToLower(d.Name), strings.ToLower(want)):
			return d, nil
		}
		names = append(names, fmt.Sprintf("%d %s", d.Index, d.Name))
	}
	if want == "" && len(found) > 0 {
		return found[0], nil
	}
	return device{}, fmt.Errorf("no device %q; there are: %s", want, strings.Join(names, ", "))
}

func describe(ctx context.Context, bin string, d device) *machine {
	of := host.This()
	m := &machine{Date: time.Now().UTC().Truncate(time.Second), Device: d, System: of.System, Processor: of.Processor, Cores: of.Processors}
	if out, err := exec.CommandContext(ctx, filepath.Join(bin, "evorl"), "--version").Output(); err == nil {
		m.Evorl = strings.TrimSpace(strings.TrimPrefix(string(out), "evorl version "))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(load))[:3], " ")
	}
	return m
}
