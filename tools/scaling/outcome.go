package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// outcome is what a study has measured.
type outcome struct {
	study
	Generation time.Duration // mean
	Longest    time.Duration // generation
	Efficiency float64       // of the workers: what they slept, of the time
	CPU        time.Duration // of the coordinator and the server, a generation
	WorkersCPU time.Duration // of all workers, a generation, with what starting took
	Down, Up   float64       // bytes of a worker's link, a generation
	Last50     time.Duration // from a generation's last result to the last worker that has all results: median over generations
	Last99     time.Duration
	Join       time.Duration // from the replica to the last of all workers, which join at once
	Again      int64         // slices done twice
	Load       float64       // of the machine, at the end
}

func summarize(s study, c course, groups []group) (*outcome, error) {
	o := &outcome{study: s, Again: c.Again, Load: load()}
	if c.Failed != s.Dies {
		return nil, fmt.Errorf("%d workers were given up; want %d", c.Failed, s.Dies)
	}
	for _, g := range groups {
		if len(g.Digests) == 0 { // all have died
			continue
		}
		if len(g.Digests) != 1 || g.Digests[0] != c.Digest {
			return nil, fmt.Errorf("workers end with digests %x; want %x, the coordinator's", g.Digests, c.Digest)
		}
	}
	n := s.Generations
	o.Generation = s.short(c.Ended[warm+n-1].Sub(c.Ended[warm-1]) / time.Duration(n))
	var ideal time.Duration
	for g := warm; g < warm+n; g++ {
		ideal += s.ideal(g)
	}
	o.Efficiency = float64(ideal/time.Duration(n)) / float64(o.Generation)
	o.CPU = c.CPU / time.Duration(n)
	var last []time.Duration
	for g := warm; g < warm+n; g++ {
		end := c.Ended[g]
		for _, of := range groups {
			if g < len(of.Ended) && of.Ended[g].After(end) {
				end = of.Ended[g]
			}
		}
		last = append(last, end.Sub(c.Ended[g]))
	}
	slices.Sort(last)
	o.Longest = 0
	for g := warm; g < warm+n; g++ {
		o.Longest = max(o.Longest, s.short(c.Ended[g].Sub(c.Ended[g-1])))
	}
	o.Last50, o.Last99 = s.short(last[len(last)/2]), s.short(last[len(last)*99/100])
	for _, of := range groups {
		o.Join = max(o.Join, s.short(of.Joined.Sub(c.Shared)))
		o.Down += float64(of.Down)
		o.Up += float64(of.Up)
		o.WorkersCPU += of.CPU / time.Duration(n+warm)
	}
	if s.Workers > 1 {
		o.Down /= float64((s.Workers - 1) * (n + warm))
		o.Up /= float64((s.Workers - 1) * (n + warm))
	}
	return o, nil
}

// load returns the machine's load of the last minute.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	x, _ := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	return x
}

func (o *outcome) String() string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()*1e3) }
	return fmt.Sprintf("W %d  latency %v  rate %g  each %d  slice %v  bytes %d: generation %s ms (longest %s), efficiency %.3f, "+
		"coordinator %s ms, workers %s ms, down %.0f B, up %.0f B, last worker %s/%s ms, join %s ms, again %d, dilation %g, load %.1f",
		o.Workers, o.Latency, o.Rate, o.Each, o.Slice, o.Bytes, ms(o.Generation), ms(o.Longest), o.Efficiency,
		ms(o.CPU), ms(o.WorkersCPU), o.Down, o.Up, ms(o.Last50), ms(o.Last99), ms(o.Join), o.Again, o.Dilation, o.Load)
}

var columns = []string{"workers", "latency_ms", "rate", "each", "slice_ms", "bytes", "state", "loose", "generations", "generation_ms", "efficiency",
	"coordinator_cpu_ms", "workers_cpu_ms", "down_bytes", "up_bytes", "last_p50_ms", "last_p99_ms", "join_ms", "again", "dilation", "load"}

// addLine adds a line to a file, which begins with the columns; "": to none.
func addLine(path string, columns, line []string) error {
	if path == "" {
		return nil
	}
	_, missing := os.Stat(path)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	if missing != nil {
		_ = w.Write(columns) // Flush reports it
	}
	_ = w.Write(line)
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	return f.Close()
}

// add adds a line to a file; "": to none.
func (o *outcome) add(path string) error {
	return addLine(path, columns, []string{strconv.Itoa(o.Workers), ms(o.Latency), fmt.Sprint(o.Rate), strconv.Itoa(o.Each), ms(o.Slice), strconv.Itoa(o.Bytes),
		strconv.Itoa(o.State), strconv.FormatBool(o.Loose), strconv.Itoa(o.Generations), ms(o.Generation), strconv.FormatFloat(o.Efficiency, 'f', 4, 64),
		ms(o.CPU), ms(o.WorkersCPU), fmt.Sprintf("%.0f", o.Down), fmt.Sprintf("%.0f", o.Up), ms(o.Last50), ms(o.Last99), ms(o.Join),
		strconv.FormatInt(o.Again, 10), fmt.Sprint(o.Dilation), fmt.Sprint(o.Load)})
}
