package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/evorl/evorl/vk"
)

// ReturnMetric is the metric of undiscounted returns: the mean over the training episodes that ended in the iteration.
const ReturnMetric = "return"

// Metrics are one number per member and step, written on the device to a ring. The host reads them when a step is finished,
// while the next one runs. Nothing inside a step waits for them.
type Metrics struct {
	*metricRows
	prefix string // of names in this scope
	each   int    // consecutive members that share a value in this scope
}

// metricRows are all metrics of a workflow.
type metricRows struct {
	members int
	parts   []string // of names, for adjacent members that are read as one
	stride  int      // elements between rows, so that each row has the storage alignment
	names   []string
	shared  []int   // by row: consecutive members that share a value
	rows    *Tensor // [metric, stride]
	ring    *Tensor // [word] u32, visible to the host
	taken   *Tensor // [2] u32, see CountSteps; nil: steps are not counted
	state   *State
}

// ringSlots is the number of steps by which the host may lag. Each slot begins with the iteration and the environment steps.
const (
	ringSlots  = 4
	ringHeader = 3
)

// NewMetrics makes metrics for the given number of members, with capacity for rows metrics.
func NewMetrics(s *State, members, rows int) *Metrics {
	align := int(s.alignment() / 4)
	m := &Metrics{metricRows: &metricRows{state: s, members: members, parts: []string{""}, stride: (members + align - 1) / align * align}, each: 1}
	m.rows = s.Scratch("metrics", Float32, Axis("metric", rows), Axis("member", m.stride))
	words := ringSlots * (ringHeader + m.rows.Len())
	m.ring = s.apart().make("metrics_ring", Uint32, []Dim{Axis("word", words)}, int64(4*words), vk.Readback)
	if s.all.err == nil {
		s.all.scratch = append(s.all.scratch, m.ring)
	}
	return m
}

// Sub returns the same metrics in a scope: names of rows added through it begin with prefix, and each consecutive members share a value, so that
// the rows are [M / each] and Read repeats their values. M must be a multiple of each.
func (m *Metrics) Sub(prefix string, each int) *Metrics {
	if m.state.all.err == nil && (each < 1 || m.members%each != 0) {
		m.state.all.err = fmt.Errorf("engine: metrics %q of groups of %d of %d members; want whole groups", m.prefix+prefix, each, m.members)
	}
	return &Metrics{metricRows: m.metricRows, prefix: m.prefix + prefix, each: max(each, 1)}
}

// Split makes Read return the metrics of adjacent members, as many as there are prefixes, as one member's. The value of
// each is a metric of its own, with its prefix before the name; a value that they share is one metric.
func (m *Metrics) Split(prefixes ...string) {
	if m.state.all.err == nil && (len(prefixes) == 0 || m.members%len(prefixes) != 0) {
		m.state.all.err = fmt.Errorf("engine: metrics of %d members, %d of which are one; want whole ones", m.members, len(prefixes))
		return
	}
	m.parts = prefixes
}

// Row adds a metric and returns the [M / each] tensor to which a step writes it; of a name that there is, it returns the same values. NaN means no
// value. Exceeding the capacity is an error of the state.
func (m *Metrics) Row(name string) *Tensor {
	name = m.prefix + name
	at := slices.Index(m.names, name)
	if at < 0 {
		at = len(m.names)
		if m.state.all.err == nil && at == m.rows.dims[0].Size {
			m.state.all.err = fmt.Errorf("engine: metric %q exceeds the capacity of %d metrics", name, at)
		}
		m.names, m.shared = append(m.names, name), append(m.shared, m.each)
	}
	if m.state.all.err == nil && m.shared[at] != m.each {
		m.state.all.err = fmt.Errorf("engine: metric %q has a value for %d members, and one for %d", name, m.shared[at], m.each)
	}
	dims := []Dim{Members(m.members / m.each)}
	if m.state.all.err != nil {
		return &Tensor{name: name, dims: dims}
	}
	row := m.rows.Index(at)
	row.name, row.dims = name, dims
	return row
}

// Clear records that no metric has a value, until it is written again: for workflows in which not every iteration writes the same ones.
func (m *Metrics) Clear(r *Recorder) { r.Fill(m.rows, math.Float32bits(float32(math.NaN()))) }

// Write sets the first rows, in the order in which Row added them, to values [M] of the host: for metrics that were computed elsewhere. What does not fit
// the rows is an error.
func (m *Metrics) Write(ctx context.Context, values [][]float32) error {
	all := make([]float32, len(values)*m.stride)
	for i, row := range values {
		if i >= len(m.names) || len(row) != m.members/m.shared[i] {
			return fmt.Errorf("engine: writing %d metrics, the last of which is of %d members; want at most %d, of %d", i+1, len(row), len(m.names), m.members)
		}
		copy(all[i*m.stride:], row)
	}
	if len(values) == 0 {
		return nil
	}
	return m.rows.Slice(0, Axis("value", len(all))).WriteFloat32(ctx, all)
}

// Record records writing the rows to the ring. Call it before the clock ticks.
func (m *Metrics) Record(r *Recorder, c Clock) {
	count := len(m.names) * m.stride
	k := ringKernel{Clock: c.t.Range(), Metrics: m.rows.Range(), Ring: m.ring.Range(), Count: uint32(count), Slots: ringSlots}
	if m.taken != nil {
		k.Taken = m.taken.Range()
	}
	r.Dispatch(k.call(uint32(max(count, 1)+63)/64, 1, 1))
}

// Read returns the metrics of an iteration (the clock's value before its tick) that has finished: for each name, one value
// per member.
func (m *Metrics) Read(iteration int) (map[string][]float32, error) {
	if iteration < 0 {
		return nil, &IterationError{iteration, "at least 0"}
	}
	if err := m.state.Allocate(); err != nil {
		return nil, err
	}
	slot := m.slot(iteration)
	if at := slot(0); at != uint32(iteration) {
		return nil, fmt.Errorf("engine: metrics of iteration %d are gone: the ring holds iteration %d", iteration, at)
	}
	out := make(map[string][]float32, len(m.names))
	for i, name := range m.names {
		for k, prefix := range m.own(i) {
			values := make([]float32, m.members/len(m.parts))
			for p := range values {
				values[p] = math.Float32frombits(slot(ringHeader + i*m.stride + (p*len(m.parts)+k)/m.shared[i]))
			}
			if _, twice := out[prefix+name]; twice {
				return nil, fmt.Errorf("engine: two metrics have the name %q: want a name for each", prefix+name)
			}
			out[prefix+name] = values
		}
	}
	return out, nil
}

// own returns the prefixes of a row's metrics.
func (m *Metrics) own(row int) []string {
	if m.shared[row]%len(m.parts) == 0 {
		return m.parts[:1]
	}
	return m.parts
}

// slot returns a function that reads the ring's words of an iteration.
func (m *Metrics) slot(iteration int) func(word int) uint32 {
	data := m.ring.block.buf.Mapped()
	at := iteration % ringSlots * (ringHeader + len(m.names)*m.stride)
	return func(word int) uint32 { return binary.LittleEndian.Uint32(data[4*(at+word):]) }
}

// Names lists the metrics in creation order.
func (m *Metrics) Names() []string {
	var names []string
	for i, name := range m.names {
		for _, prefix := range m.own(i) {
			names = append(names, prefix+name)
		}
	}
	return names
}

// CopyCounts records copying counts [M] u32 to a row [M] of metrics. Counts are exact up to 2^24.
func CopyCounts(r *Recorder, row, counts *Tensor) {
	if row.Len() != counts.Len() {
		r.Fail(fmt.Errorf("engine: copying the counts %v to %v; want the same length", counts, row))
		return
	}
	n := uint32(counts.Len())
	r.Dispatch(countKernel{Count: counts.Range(), Row: row.Range(), Members: n}.call((n+7)/8, 1, 1))
}
