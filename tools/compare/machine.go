package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/evorl/evorl/internal/host"
)

// device is what the program measure tells of the device that it opens.
type device struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`
	Vendor string `json:"vendor"`
	Type   string `json:"type"` // cpu: a software driver
	Driver string `json:"driver"`
	API    string `json:"api"`
	Evorl  string `json:"evorl"` // version
}

func (d device) gpu() bool { return d.Type != "cpu" && d.Type != "other" }

// machine describes where and when figures were measured.
type machine struct {
	Date      time.Time `json:"date"`
	Device    device    `json:"device"`
	System    string    `json:"system"`
	Processor string    `json:"processor"`
	Cores     int       `json:"cores"`
	Load      string    `json:"load"` // averages over 1, 5 and 15 minutes, before the first part
}

// findTime is how long a device may take to be opened: a driver that hangs would hang every part.
const findTime = time.Minute

// findDevice opens a device as evorl does, by index or part of a name, or else the default one, and describes it.
func findDevice(ctx context.Context, argv []string, within time.Duration) (d device, err error) {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cmd := exec.CommandContext(limited, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return d, fmt.Errorf("the device was not opened within %v; evorl devices tells what there is, -device N takes another one", within)
	case errors.As(err, &exit):
		return d, errors.New(strings.TrimSpace(string(exit.Stderr)))
	case err != nil:
		return d, err
	}
	if err := json.Unmarshal(out, &d); err != nil {
		return d, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return d, nil
}

func describe(d device) *machine {
	of := host.This()
	m := &machine{Date: time.Now().UTC().Truncate(time.Second), Device: d, System: of.System, Processor: of.Processor, Cores: of.Processors}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(load))[:3], " ")
	}
	return m
}
