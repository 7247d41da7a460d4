package evorl

import (
	"context"
	"fmt"
	"time"

	"github.com/evorl/evorl/internal/machines"
)

// ClusterStatus is what the coordinator of a shared run tells of its workers.
type ClusterStatus struct {
	Run        string          `json:"run"` // its name at the server
	Iterations int             `json:"iterations"`
	Divides    string          `json:"divides"`      // rundir.Candidates, Members or Environments
	Slices     int             `json:"slices"`       // of them; 0: unknown
	Done       int64           `json:"done"`         // slices of all workers
	Again      int64           `json:"again"`        // of them, those done twice
	ToAll      int64           `json:"bytes_to_all"` // sent to all workers, of one copy
	At         time.Time       `json:"at"`
	Workers    []ClusterWorker `json:"workers"` // the coordinator's own devices first
}

// ClusterWorker describes a worker of a shared run.
type ClusterWorker struct {
	Name      string  `json:"name"`
	Device    string  `json:"device"`
	Iteration int     `json:"iteration"`     // in which it is, from 0; -1: it has not begun
	Slices    int     `json:"slices"`        // that it has done
	Has       int     `json:"has"`           // slices of members that are its own; 0 in a search
	SliceTime float64 `json:"slice_seconds"` // of one, lately; 0: unknown
	Received  int64   `json:"bytes_in"`      // by the coordinator; 0 of its own devices
	Sent      int64   `json:"bytes_out"`     // to this worker alone
	Silent    float64 `json:"silent_seconds"`
	Left      bool    `json:"left"`
	Cause     string  `json:"cause,omitempty"` // why it left, or was refused; "": it did not fail
}

// ReadClusterStatus asks the coordinator of a run (Clustered) for its workers.
func ReadClusterStatus(ctx context.Context, at ClusterConfig) (*ClusterStatus, error) {
	of, err := workerAddress(at.Address)
	if err != nil {
		return nil, err
	}
	conn, err := machines.Connect(ctx, of.Server, at.access(), nil)
	if err != nil {
		return nil, fmt.Errorf("evorl: %w", err)
	}
	defer conn.Close()
	s, err := machines.ReadStatus(ctx, conn, of.Run)
	if err != nil {
		return nil, fmt.Errorf("evorl: %w", err)
	}
	all := &ClusterStatus{Run: s.Run, Iterations: s.Iterations, Divides: s.Divides, Slices: s.Slices, Done: s.Done, Again: s.Again, ToAll: s.ToAll, At: s.At}
	for _, w := range s.Workers {
		all.Workers = append(all.Workers, ClusterWorker{Name: w.Name, Device: w.Device, Iteration: w.Step, Slices: w.Slices, Has: w.Has,
			SliceTime: w.Mean.Seconds(), Received: w.In, Sent: w.Out, Silent: w.Silent.Seconds(), Left: w.Left, Cause: w.Cause})
	}
	return all, nil
}
