package metrics

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
)

// Numbers of Apache Parquet's format, version 1 (parquet.thrift).
const (
	parquetInt64    = 2
	parquetDouble   = 5
	parquetRequired = 0
	parquetOptional = 1
	parquetPlain    = 0 // encoding of values
	parquetRLE      = 3 // encoding of definition levels: runs of equal ones
)

// parquetMagic begins and ends a file.
const parquetMagic = "PAR1"

// WriteParquet writes the table of WriteCSV as Parquet: columns of 64-bit integers and floating-point numbers, uncompressed, in one row group. A value that
// a record does not have is null.
func WriteParquet(w io.Writer, records []Record) error {
	var file bytes.Buffer
	file.WriteString(parquetMagic)
	columns := parquetColumns(records)
	for i := range columns {
		columns[i].at = file.Len()
		columns[i].write(&file)
		columns[i].size = file.Len() - columns[i].at
	}
	footer := parquetFooter(columns, len(records))
	file.Write(footer)
	_ = binary.Write(&file, binary.LittleEndian, uint32(len(footer))) // a buffer never fails
	file.WriteString(parquetMagic)
	_, err := w.Write(file.Bytes())
	return err
}

// parquetColumn is a column with its place in the file.
type parquetColumn struct {
	name     string
	typ      int64
	optional bool
	present  []bool   // of each row
	bits     []uint64 // of the values that are present
	at, size int
}

// parquetColumns returns the columns of records.
func parquetColumns(records []Record) []parquetColumn {
	columns := []parquetColumn{{name: iterationKey, typ: parquetInt64}, {name: envStepsKey, typ: parquetInt64}, {name: secondsKey, typ: parquetDouble}}
	for _, name := range columnNames(records) {
		columns = append(columns, parquetColumn{name: name, typ: parquetDouble, optional: true})
	}
	for _, r := range records {
		for i, bits := range []uint64{uint64(r.Iteration), uint64(r.EnvSteps), math.Float64bits(r.Seconds)} {
			columns[i].bits = append(columns[i].bits, bits)
			columns[i].present = append(columns[i].present, true)
		}
		for i := 3; i < len(columns); i++ {
			x, ok := r.Values[columns[i].name]
			columns[i].present = append(columns[i].present, ok)
			if ok {
				columns[i].bits = append(columns[i].bits, math.Float64bits(x))
			}
		}
	}
	return columns
}

// write writes the column as one page: if values may be missing, the definition levels, one bit for each row; then the values.
func (c *parquetColumn) write(to *bytes.Buffer) {
	var page []byte
	if c.optional {
		levels := binary.AppendUvarint(nil, uint64((len(c.present)+7)/8)<<1|1) // groups of eight bits
		for i, present := range c.present {
			if i%8 == 0 {
				levels = append(levels, 0)
			}
			if present {
				levels[len(levels)-1] |= 1 << (i % 8)
			}
		}
		page = append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
	}
	for _, b := range c.bits {
		page = binary.LittleEndian.AppendUint64(page, b)
	}
	var header thrift // PageHeader
	header.integer(1, 0)
	header.integer(2, int64(len(page)))
	header.integer(3, int64(len(page)))
	header.within(5, func(h *thrift) { // DataPageHeader
		h.integer(1, int64(len(c.present)))
		h.integer(2, parquetPlain)
		h.integer(3, parquetRLE)
		h.integer(4, parquetRLE)
	})
	to.Write(header.end())
	to.Write(page)
}

// parquetFooter is the FileMetaData.
func parquetFooter(columns []parquetColumn, rows int) []byte {
	var footer thrift
	footer.integer(1, 1)
	footer.list(2, thriftStruct, len(columns)+1, func(i int, s *thrift) { // SchemaElement, the first of the table
		if i == 0 {
			s.text(4, "metrics")
			s.integer(5, int64(len(columns)))
			return
		}
		c := columns[i-1]
		s.integer(1, c.typ)
		s.integer(3, map[bool]int64{false: parquetRequired, true: parquetOptional}[c.optional])
		s.text(4, c.name)
	})
	footer.long(3, int64(rows))
	groups := min(rows, 1)
	footer.list(4, thriftStruct, groups, func(_ int, g *thrift) { // RowGroup
		size := 0
		g.list(1, thriftStruct, len(columns), func(i int, of *thrift) { // ColumnChunk
			c := columns[i]
			size += c.size
			of.long(2, int64(c.at))
			of.within(3, func(m *thrift) { c.describe(m) })
		})
		g.long(2, int64(size))
		g.long(3, int64(rows))
	})
	footer.text(6, "evorl")
	return footer.end()
}

// describe writes the ColumnMetaData.
func (c *parquetColumn) describe(m *thrift) {
	m.integer(1, c.typ)
	m.list(2, thriftInteger, 2, func(i int, e *thrift) { e.number([]int64{parquetPlain, parquetRLE}[i]) })
	m.list(3, thriftText, 1, func(_ int, e *thrift) { e.string(c.name) })
	m.integer(4, 0) // uncompressed
	m.long(5, int64(len(c.present)))
	m.long(6, int64(c.size))
	m.long(7, int64(c.size))
	m.long(9, int64(c.at))
}
