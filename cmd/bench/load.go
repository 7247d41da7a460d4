package bench

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is Linux's USER_HZ, which is 100 on all its architectures that Go supports.
const ticksPerSecond = 100

// loadClock is the processor time used so far, in ticks, by all programs and by this process. It is known only on
// Linux.
type loadClock struct {
	when      time.Time
	busy, own float64
	known     bool
}

func readLoad() loadClock {
	c := loadClock{when: time.Now()}
	all, err := os.ReadFile("/proc/stat")
	if err != nil {
		return c
	}
	self, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return c
	}
	first, _, _ := strings.Cut(string(all), "\n")
	fields := strings.Fields(first)               // cpu user nice system idle iowait irq softirq steal …
	_, rest, _ := strings.Cut(string(self), ") ") // fields after the program's name
	process := strings.Fields(rest)
	if len(fields) < 9 || len(process) < 13 {
		return c
	}
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		c.busy += ticks(fields[i])
	}
	c.own, c.known = ticks(process[11])+ticks(process[12]), true // utime, stime
	return c
}

func ticks(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64) // the kernel writes numbers
	return n
}

// othersSince returns the fraction of the processors' time that other programs have used since then; nil: unknown.
func othersSince(then loadClock, processors int) *float64 {
	now := readLoad()
	took := now.when.Sub(then.when).Seconds()
	if !now.known || !then.known || took <= 0 {
		return nil
	}
	share := (now.busy - then.busy - (now.own - then.own)) / ticksPerSecond / took / float64(processors)
	share = max(0, share)
	return &share
}
