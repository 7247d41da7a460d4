// Command scaling measures how a shared run scales with its workers: virtual workers, which sleep instead of computing, take part in a run through the code
// that real ones use, over a NATS server, each by a link of a given latency and rate.
//
//	go run ./tools/scaling -workers 1,16,256 -latency 100us,20ms -rate 1e8,1e10
//	go run ./tools/scaling -members 4 -interval 4 -each 1 -workers 1,4,16,64   # members, and PBT
//	go run ./tools/scaling -record times.csv configs/openes.toml iterations=10 # how long slices take
//	go run ./tools/scaling -times times.csv -workers 1,16                      # workers who sleep as long
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scaling:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], "as-") {
		return child(ctx, args)
	}
	flags := flag.NewFlagSet("scaling", flag.ContinueOnError)
	workers := flags.String("workers", "1,4,16,64,256", "numbers of workers")
	latencies := flags.String("latency", "1ms", "latencies of a link, one way")
	rates := flags.String("rate", "1e9", "bits a second of a link; 0: not limited")
	each := flags.String("each", "4", "slices a worker and generation")
	size := flags.String("bytes", "96", "bytes of a slice's result")
	slice := flags.String("slice", "100ms", "time of a slice")
	state := flags.Int("state", 64<<10, "bytes of the replica, or of a member")
	members := flags.Int("members", 0, "members of a slice; 0: slices are of candidates")
	interval := flags.Int("interval", 0, "iterations of members between exchanges of PBT; 0: there are none")
	times := flags.String("times", "", "CSV `FILE` of the slices' times, instead of -slice")
	recorded := flags.String("record", "", "run the configuration that follows, with its settings KEY=VALUE, and write the slices' times to CSV `FILE`")
	generations := flags.Int("generations", 20, "generations that are measured")
	loose := flags.Bool("loose", false, "send the replica in every generation")
	dies := flags.Int("dies", 0, "workers that die in the generation in the middle")
	dilation := flags.Float64("dilate", 1, "`TIMES` as long as it is said everything takes, so that processors are as many times as fast")
	turns := flags.Int("turns", 1, "repetitions, of which the best counts")
	processes := flags.Int("processes", 2, "processes of virtual workers")
	out := flags.String("out", "", "CSV `FILE` to which results are added")
	figure := flags.String("draw", "", "draw the results of --out as SVG `FILE`, instead of measuring")
	before := flags.String("before", "", "CSV `FILE` of other results, which are drawn too")
	limit := flags.Duration("timeout", 5*time.Minute, "of a measurement")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *figure != "" {
		return draw(*figure, *out, *before)
	}
	if *recorded != "" {
		if flags.NArg() < 1 {
			return errors.New("-record without a configuration: want its path, and settings such as iterations=10")
		}
		return record(ctx, *recorded, flags.Arg(0), flags.Args()[1:]...)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("arguments %q: want none without -record", flags.Args())
	}
	if *members < 0 || *interval < 0 || *members == 0 && *interval > 0 || *members > 0 && (*loose || *dies > 0) {
		return errors.New("want -interval with -members alone, and neither -loose nor -dies with it")
	}
	if *members > 0 && *state < 4*counted {
		return fmt.Errorf("-state %d: want at least %d bytes of a member", *state, 4*counted)
	}
	var studies []study
	for _, w := range strings.Split(*workers, ",") {
		for _, l := range strings.Split(*latencies, ",") {
			for _, r := range strings.Split(*rates, ",") {
				for _, e := range strings.Split(*each, ",") {
					for _, b := range strings.Split(*size, ",") {
						for _, t := range strings.Split(*slice, ",") {
							s := study{State: *state, Generations: *generations, Loose: *loose, Dilation: *dilation, Dies: *dies, Members: *members,
								Interval: *interval, Times: *times}
							var errs [7]error
							s.Workers, errs[0] = strconv.Atoi(w)
							s.Latency, errs[1] = time.ParseDuration(l)
							s.Rate, errs[2] = strconv.ParseFloat(r, 64)
							s.Each, errs[3] = strconv.Atoi(e)
							s.Bytes, errs[4] = strconv.Atoi(b)
							s.Slice, errs[5] = time.ParseDuration(t)
							errs[6] = s.replay()
							if err := errors.Join(errs[:]...); err != nil {
								return err
							}
							studies = append(studies, s)
						}
					}
				}
			}
		}
	}
	for _, s := range studies {
		var best measured
		for range *turns {
			of, err := measure(ctx, s, *processes, *limit)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%+v: %v\n", s, err)
				continue
			}
			if best == nil || of.efficiency() > best.efficiency() {
				best = of
			}
		}
		if best == nil {
			continue
		}
		fmt.Println(best)
		if err := best.add(*out); err != nil {
			return err
		}
	}
	return nil
}

// measured is the outcome of a study.
type measured interface {
	efficiency() float64
	add(path string) error
}

func (o *outcome) efficiency() float64        { return o.Efficiency }
func (o *dividedOutcome) efficiency() float64 { return o.Efficiency }

// child runs a part of a study in a process of its own: as-coordinator STUDY, or as-workers STUDY URL FIRST NUMBER.
func child(ctx context.Context, args []string) error {
	var s study
	if err := json.Unmarshal([]byte(args[1]), &s); err != nil {
		return err
	}
	if err := s.replay(); err != nil {
		return err
	}
	if args[0] == "as-coordinator" {
		var of any
		var err error
		if say := func(url string) { fmt.Println(url) }; s.Members > 0 {
			of, err = divide(ctx, s, say)
		} else {
			of, err = coordinate(ctx, s, say)
		}
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(of)
	}
	first, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[4])
	if err != nil {
		return err
	}
	take := takeAll
	if s.Members > 0 {
		take = helpAll
	}
	of, err := take(ctx, s, args[2], first, n)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(of)
}

// part is a child.
type part struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

func begin(ctx context.Context, args ...string) (*part, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, own, args...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &part{cmd, bufio.NewReader(pipe)}, cmd.Start()
}

// end reads what a child has measured.
func (p *part) end(into any) error {
	err := json.NewDecoder(p.out).Decode(into)
	return errors.Join(err, p.cmd.Wait())
}

// measure runs a study in processes.
func measure(ctx context.Context, s study, processes int, limit time.Duration) (measured, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	lead, err := begin(ctx, "as-coordinator", string(text))
	if err != nil {
		return nil, err
	}
	url, err := lead.out.ReadString('\n')
	if err != nil {
		return nil, errors.Join(err, lead.cmd.Wait())
	}
	var groups []*part
	for first, i := 1, 0; first < s.Workers; i++ {
		n := (s.Workers - first + processes - i - 1) / (processes - i)
		p, err := begin(ctx, "as-workers", string(text), strings.TrimSpace(url), strconv.Itoa(first), strconv.Itoa(n))
		if err != nil {
			return nil, err
		}
		groups, first = append(groups, p), first+n
	}
	var searched course
	var trained divided
	var into any = &searched
	if s.Members > 0 {
		into = &trained
	}
	if err := lead.end(into); err != nil {
		return nil, err
	}
	all := make([]group, len(groups))
	for i, p := range groups {
		if err := p.end(&all[i]); err != nil {
			return nil, err
		}
	}
	if s.Members > 0 {
		return summarizeDivided(s, trained, all), nil
	}
	return summarize(s, searched, all)
}
