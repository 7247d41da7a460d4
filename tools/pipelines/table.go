package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/evorl/evorl/envs"
)

// cell is the most that the pipelines of a kernel take on a target.
type cell struct {
	Registers int // -1: the driver does not tell
	Spills    int
	Code      int // bytes, or instructions where the driver tells those
}

// String returns registers/spills/code, marked if it spills.
func (c cell) String() string {
	registers, mark := "-", ""
	if c.Registers >= 0 {
		registers = strconv.Itoa(c.Registers)
	}
	if c.Spills > fewSpills {
		mark = "*"
	}
	return fmt.Sprintf("%s/%d/%d%s", registers, c.Spills, c.Code, mark)
}

func parseCell(text string) (c cell, err error) {
	text = strings.TrimSuffix(text, "*")
	if rest, none := strings.CutPrefix(text, "-/"); none {
		text = "-1/" + rest
	}
	_, err = fmt.Sscanf(text, "%d/%d/%d", &c.Registers, &c.Spills, &c.Code)
	return c, err
}

// table holds the cells by kernel and target.
type table struct {
	targets []string
	cells   map[string]map[string]cell
}

func tableOf(targets []target, results []result) table {
	t := table{cells: map[string]map[string]cell{}}
	for _, target := range targets {
		t.targets = append(t.targets, target.String())
	}
	for _, r := range results {
		if r.Error != "" {
			continue
		}
		row := t.cells[r.Shader.Name]
		if row == nil {
			row = map[string]cell{}
			t.cells[r.Shader.Name] = row
		}
		c, ok := row[r.target.String()]
		if !ok {
			c.Registers = -1
		}
		row[r.target.String()] = cell{max(c.Registers, r.Stats.Registers), max(c.Spills, r.Stats.Spills), max(c.Code, r.code())}
	}
	return t
}

const tableHead = `The most that a pipeline of each kernel takes on each target: registers/spills/code, code in bytes or, on Intel's GPUs, instructions;
-: no configuration of the sample chooses the kernel there, or the compiler does not tell. Cells marked * spill with an excuse: the kernel
steps a robot, whose state may exceed the registers, or Mesa's compiler for RDNA 3 uses only 144 registers.
Written by go run ./tools/pipelines -sample -write with Mesa 22.3.6.

`

// String is the table's file.
func (t table) String() string {
	var out strings.Builder
	out.WriteString(tableHead)
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "kernel\t"+strings.Join(t.targets, "\t"))
	for _, kernel := range sortedKeys(t.cells) {
		fmt.Fprint(w, kernel)
		for _, target := range t.targets {
			if c, ok := t.cells[kernel][target]; ok {
				fmt.Fprintf(w, "\t%v", c)
			} else {
				fmt.Fprint(w, "\t-")
			}
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return out.String()
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// with returns the table with the columns of another one in place of its own.
func (t table) with(columns table) table {
	for _, target := range columns.targets {
		if !slices.Contains(t.targets, target) {
			t.targets = append(t.targets, target)
		}
		for _, row := range t.cells {
			delete(row, target)
		}
	}
	for kernel, row := range columns.cells {
		if t.cells[kernel] == nil {
			t.cells[kernel] = map[string]cell{}
		}
		maps.Copy(t.cells[kernel], row)
	}
	maps.DeleteFunc(t.cells, func(_ string, row map[string]cell) bool { return len(row) == 0 })
	return t
}

// parseTable reads what String writes.
func parseTable(text string) (t table, err error) {
	t.cells = map[string]map[string]cell{}
	_, text, _ = strings.Cut(text, "\n\n")
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || i > 0 && len(fields) != len(t.targets)+1 {
			return t, fmt.Errorf("%s: %q is not a row of a kernel and %d targets", tableFile, line, len(t.targets))
		}
		if i == 0 {
			t.targets = fields[1:]
			continue
		}
		row := map[string]cell{}
		for j, target := range t.targets {
			if fields[j+1] == "-" {
				continue
			}
			if row[target], err = parseCell(fields[j+1]); err != nil {
				return t, fmt.Errorf("%s: %q is not registers/spills/code: %w", tableFile, fields[j+1], err)
			}
		}
		t.cells[fields[0]] = row
	}
	return t, nil
}

// compare returns an error that lists the kernels which take clearly more than the committed table says: a few more spills, or a quarter
// more registers or code.
func (t table) compare(old table) error {
	var worse []string
	for _, kernel := range sortedKeys(t.cells) {
		for _, target := range t.targets {
			now, ok := t.cells[kernel][target]
			was, known := old.cells[kernel][target]
			switch {
			case !ok || !slices.Contains(old.targets, target):
			case !known:
				worse = append(worse, fmt.Sprintf("%s on %s is not in the table", kernel, target))
			case now.Spills > was.Spills+was.Spills/4+fewSpills, now.Registers > was.Registers+was.Registers/4+8, now.Code > was.Code+was.Code/4+1024:
				worse = append(worse, fmt.Sprintf("%s on %s takes %v; the table has %v", kernel, target, now, was))
			}
		}
	}
	if len(worse) == 0 {
		return nil
	}
	return errors.New(strings.Join(worse, "\n") + "\n(registers/spills/code; go run ./tools/pipelines -sample -write renews " + tableFile + ")")
}

// excused reports whether a pipeline may spill: the passes of a solver do not need the robot's state, observations and network at once, and Mesa 22.3's
// compiler for RDNA 3, unlike later ones, uses at most 144 registers.
func (r result) excused() bool {
	const fewer = 144
	if r.target.family == "gfx1100" && r.Stats.Registers == fewer {
		return true
	}
	_, name, ok := strings.Cut(r.Shader.Name, ".")
	if !ok {
		return false
	}
	if r.env != nil { // it may be the user's own
		return r.env.Iterations > 0
	}
	e, err := envs.Lookup(strings.TrimSuffix(name, ".cooperative"))
	return err == nil && e.Iterations > 0
}

// String is a line about a pipeline.
func (r result) String() string {
	if r.Error != "" {
		return fmt.Sprintf("%v %v: DOES NOT COMPILE", r.target, r.pipeline)
	}
	s := r.Stats
	return fmt.Sprintf("%v %v: %d registers, %d spills, %d B scratch, %d B shared, code %d",
		r.target, r.pipeline, s.Registers, s.Spills, s.ScratchBytes, max(s.SharedBytes, 0), r.code())
}

// code returns the size of the code: bytes of RADV's, instructions of ANV's.
func (r result) code() int {
	return int(max(r.statistic("code size"), r.statistic("instruction count")))
}

// statistic returns a value by the driver's name for it, or 0 if the driver does not report it.
func (r result) statistic(name string) float64 {
	for _, s := range r.Stats.Statistics {
		if strings.EqualFold(s.Name, name) {
			return s.Value
		}
	}
	return 0
}
