package watch

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/evorl/evorl/engine/metrics"
	"github.com/evorl/evorl/engine/rundir"
)

const (
	// membersTail is how much of members.jsonl and of lineage.jsonl is read at once, in bytes: the newest values of members are at the
	// end. Older ones are known if they were read before.
	membersTail = 16 << 20
	// mostRows bounds the table; the page names the column by which they are the best.
	mostRows = 1000
	// mostMembers is the largest number of members that a configuration accepts.
	mostMembers = 1 << 20
)

// membersData is /members.json: a row for each member in their order, or the best by a column.
type membersData struct {
	Members int       `json:"members"`
	Columns []string  `json:"columns"`
	Rows    []numbers `json:"rows"`
}

// members holds the newest values of each member for all readers of the page: 8 bytes for each, and twice what is read at once.
type members struct {
	mu              sync.Mutex
	values, lineage metrics.Follower
	scores          columns // from members.jsonl
	exchange        columns // of the newest exchange
	at              int64   // its iteration
	read            time.Time
}

// columns are values of members by name and member; NaN: none.
type columns map[string][]float64

func (c columns) set(member int, name string, x float64) {
	if member < 0 || member >= mostMembers {
		return
	}
	column := c[name]
	for len(column) <= member {
		column = append(column, math.NaN())
	}
	column[member] = x
	c[name] = column
}

func newMembers(path string) *members {
	follow := func(name string) metrics.Follower {
		return metrics.Follower{Path: filepath.Join(path, name), MaxLine: membersTail, Tail: membersTail}
	}
	return &members{values: follow(rundir.MembersFile), lineage: follow(rundir.LineageFile), scores: columns{}, exchange: columns{}}
}

func (m *members) serve(w http.ResponseWriter, r *http.Request) {
	data, err := m.newest(r.URL.Query().Get("by"))
	var text []byte
	if err == nil {
		text, err = json.Marshal(data)
	}
	writeText(w, text, err)
}

// newest reads what is new and returns the table, of more than mostRows members the best by a column; "": by the first.
func (m *members) newest(by string) (membersData, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.read) >= fresh {
		m.read = time.Now()
		if err := m.values.Next(func() { clear(m.scores) }, m.addScores); err != nil {
			return membersData{}, err
		}
		if err := m.lineage.Next(func() { clear(m.exchange) }, m.addExchange); err != nil {
			return membersData{}, err
		}
	}
	return m.table(by), nil
}

func (m *members) addScores(line []byte) {
	var r metrics.Record
	if r.UnmarshalJSON(line) != nil {
		return
	}
	for name, x := range r.Values {
		at := strings.LastIndexByte(name, '/')
		if member, err := strconv.Atoi(name[at+1:]); err == nil && at > 0 {
			m.scores.set(member, name[:at], x)
		}
	}
}

func (m *members) addExchange(line []byte) {
	var r metrics.Record
	if r.UnmarshalJSON(line) != nil {
		return
	}
	if r.Iteration != m.at {
		clear(m.exchange)
		m.at = r.Iteration
	}
	for name, x := range r.Values {
		if name != "member" {
			m.exchange.set(int(r.Values["member"]), name, x)
		}
	}
}

// value returns the newest value of a member: what members.jsonl has counts before the exchange.
func (m *members) value(name string, member int) float64 {
	for _, of := range []columns{m.scores, m.exchange} {
		if column := of[name]; member < len(column) && !math.IsNaN(column[member]) {
			return column[member]
		}
	}
	return math.NaN()
}

func (m *members) table(by string) membersData {
	var names []string
	count := 0
	for _, of := range []columns{m.scores, m.exchange} {
		for name, column := range of {
			count = max(count, len(column))
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, order)
	out := membersData{Columns: append([]string{"member"}, names...), Rows: []numbers{}}
	var which []int
	for member := range count {
		if slices.ContainsFunc(names, func(name string) bool { return !math.IsNaN(m.value(name, member)) }) {
			which = append(which, member)
		}
	}
	if out.Members = len(which); out.Members > mostRows {
		if !slices.Contains(names, by) {
			by = names[0]
		}
		slices.SortStableFunc(which, func(a, b int) int { return cmp.Compare(m.value(by, b), m.value(by, a)) }) // NaN is less than any number
		which = which[:mostRows]
	}
	for _, member := range which {
		row := numbers{float64(member)}
		for _, name := range names {
			row = append(row, m.value(name, member))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// order puts scores before what they come from.
func order(a, b string) int {
	first := []string{"evaluation", "return", "fitness", "parent"}
	rank := func(name string) int {
		if at := slices.Index(first, name); at >= 0 {
			return at
		}
		return len(first)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}
