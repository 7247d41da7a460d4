package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// dividedOutcome is what a study of members has measured.
type dividedOutcome struct {
	study
	Mean       time.Duration    // of an iteration
	Times      [4]time.Duration // medians, by kind; 0: there were none
	Number     [4]int           // iterations, by kind
	Bytes      [4][2]float64    // from a worker and to it, by kind
	Efficiency float64          // of the workers: what they slept, of the time
	CPU        time.Duration    // of the coordinator and the server, an iteration
	WorkersCPU time.Duration    // of all workers, an iteration, with what starting took
	Load       float64          // of the machine, at the end
}

// Kinds of iterations of members: nothing but metrics moves; all states come to the coordinator; it begins with an exchange; both.
const (
	plainLap = iota
	homedLap
	exchangeLap
	bothLap
)

// summarizeDivided summarizes the iterations. Those after which states come to the coordinator are known by their bytes.
func summarizeDivided(s study, of divided, groups []group) *dividedOutcome {
	o := &dividedOutcome{study: s, Load: load(), CPU: of.CPU / time.Duration(s.Generations)}
	var ideal, sum time.Duration
	var kinds [4][]lap
	states := int64(s.Workers-1) * int64(s.Each*s.Members*s.State) // that workers have
	for i, l := range of.Laps[warm:] {
		l.Took = s.short(l.Took)
		ideal, sum = ideal+s.ideal(warm+i), sum+l.Took
		kind := plainLap
		if l.Exchanged {
			kind = exchangeLap
		}
		if s.Workers > 1 && l.In > states {
			kind += homedLap
		}
		kinds[kind] = append(kinds[kind], l)
	}
	o.Mean, o.Efficiency = sum/time.Duration(s.Generations), float64(ideal)/float64(sum)
	for k, all := range kinds {
		o.Times[k], o.Bytes[k] = s.median(all)
		o.Number[k] = len(all)
	}
	for _, g := range groups {
		o.WorkersCPU += g.CPU / time.Duration(s.Generations+warm)
	}
	return o
}

// median returns the median time of iterations, and the mean bytes of a worker's link; 0: there are none.
func (s study) median(all []lap) (took time.Duration, bytes [2]float64) {
	if len(all) == 0 {
		return 0, bytes
	}
	var times []time.Duration
	for _, l := range all {
		times = append(times, l.Took)
		bytes[0], bytes[1] = bytes[0]+float64(l.In), bytes[1]+float64(l.Out)
	}
	slices.Sort(times)
	for i := range bytes {
		bytes[i] /= float64(len(all) * max(s.Workers-1, 1))
	}
	return times[len(times)/2], bytes
}

func (o *dividedOutcome) String() string {
	text := fmt.Sprintf("W %d  latency %v  rate %g  each %d of %d members of %d B  slice %v  exchange every %d: iteration %s ms, efficiency %.3f, "+
		"coordinator %s ms, workers %s ms, dilation %g, load %.1f", o.Workers, o.Latency, o.Rate, o.Each, o.Members, o.State, o.Slice, o.Interval, ms(o.Mean),
		o.Efficiency, ms(o.CPU), ms(o.WorkersCPU), o.Dilation, o.Load)
	for k, name := range kindNames {
		if o.Number[k] > 0 {
			text += fmt.Sprintf("\n  %2d %-8s %s ms, up %.0f B, down %.0f B", o.Number[k], name, ms(o.Times[k]), o.Bytes[k][0], o.Bytes[k][1])
		}
	}
	return text
}

var kindNames = [4]string{"plain", "states", "exchange", "both"}

func ms(d time.Duration) string { return strconv.FormatFloat(d.Seconds()*1e3, 'f', 2, 64) }

var dividedColumns = []string{"workers", "latency_ms", "rate", "each", "slice_ms", "times", "members", "state", "interval", "iterations", "iteration_ms",
	"efficiency", "coordinator_cpu_ms", "workers_cpu_ms", "dilation", "load"}

// add adds a line to a file; "": to none.
func (o *dividedOutcome) add(path string) error {
	names := slices.Clone(dividedColumns)
	line := []string{strconv.Itoa(o.Workers), ms(o.Latency), fmt.Sprint(o.Rate), strconv.Itoa(o.Each), ms(o.Slice), o.study.Times, strconv.Itoa(o.Members),
		strconv.Itoa(o.State), strconv.Itoa(o.Interval), strconv.Itoa(o.Generations), ms(o.Mean), strconv.FormatFloat(o.Efficiency, 'f', 4, 64), ms(o.CPU),
		ms(o.WorkersCPU), fmt.Sprint(o.Dilation), fmt.Sprint(o.Load)}
	for k, name := range kindNames {
		names = append(names, name, name+"_ms", name+"_up_bytes", name+"_down_bytes")
		line = append(line, strconv.Itoa(o.Number[k]), ms(o.Times[k]), fmt.Sprintf("%.0f", o.Bytes[k][0]), fmt.Sprintf("%.0f", o.Bytes[k][1]))
	}
	return addLine(path, names, line)
}
