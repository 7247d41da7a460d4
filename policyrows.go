package evorl

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/evorl/evorl/engine/nn"
)

// rowReader reads observations from text that is known to be JSON.
type rowReader struct {
	text  []byte
	at    int
	shape nn.Shape
}

// readRows reads an array of observations, each flat or in its shape.
func readRows(text json.RawMessage, shape nn.Shape, most int) (rows [][]float32, err error) {
	r := &rowReader{text: text, shape: shape}
	if r.next() != '[' {
		return nil, fmt.Errorf("none; want an array of observations of shape %v", []int(shape))
	}
	size := shape.Size()
	for r.at++; r.next() != ']'; r.comma() {
		if len(rows) == most {
			return nil, fmt.Errorf("more than %d observations; want at most as many at a time", most)
		}
		if r.text[r.at] != '[' {
			return nil, fmt.Errorf("observation %d is no array; want an array of observations, even of one", len(rows))
		}
		row, err := r.row(make([]float32, 0, size))
		if err == nil && len(row) != size {
			err = fmt.Errorf("%d numbers; want shape %v", len(row), []int(shape))
		}
		if err != nil {
			return nil, fmt.Errorf("observation %d: %w", len(rows), err)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, errors.New("an empty array; want at least one observation")
	}
	return rows, nil
}

// row reads an observation that is an array of numbers or, by its shape, of arrays.
func (r *rowReader) row(row []float32) ([]float32, error) {
	begin := r.at
	r.at++
	nested := r.next() == '['
	r.at = begin
	if !nested || len(r.shape) == 1 {
		return r.numbers(row, r.shape.Size())
	}
	return r.nested(row, 0)
}

// nested reads an array of the observation's axis.
func (r *rowReader) nested(row []float32, axis int) ([]float32, error) {
	if axis == len(r.shape)-1 {
		before := len(row)
		row, err := r.numbers(row, r.shape[axis])
		if err == nil && len(row)-before != r.shape[axis] {
			err = fmt.Errorf("an array of %d numbers; want shape %v", len(row)-before, []int(r.shape))
		}
		return row, err
	}
	n := 0
	for r.at++; r.next() != ']'; r.comma() {
		if r.text[r.at] != '[' || n == r.shape[axis] {
			return nil, fmt.Errorf("want shape %v", []int(r.shape))
		}
		var err error
		if row, err = r.nested(row, axis+1); err != nil {
			return nil, err
		}
		n++
	}
	if r.at++; n != r.shape[axis] {
		return nil, fmt.Errorf("an array of %d arrays; want shape %v", n, []int(r.shape))
	}
	return row, nil
}

// numbers reads an array of numbers, at most so many.
func (r *rowReader) numbers(row []float32, most int) ([]float32, error) {
	if r.next() != '[' {
		return nil, fmt.Errorf("want shape %v", []int(r.shape))
	}
	n := 0
	for r.at++; r.next() != ']'; r.comma() {
		end := r.at
		for end < len(r.text) && isNumber(r.text[end]) {
			end++
		}
		if end == r.at {
			return nil, fmt.Errorf("element %d is no number; want shape %v", n, []int(r.shape))
		}
		v, err := strconv.ParseFloat(string(r.text[r.at:end]), 32)
		if err != nil {
			return nil, fmt.Errorf("element %d is %s; want a number that float32 has", n, r.text[r.at:end])
		}
		if n == most {
			return nil, fmt.Errorf("more than %d numbers; want shape %v", most, []int(r.shape))
		}
		row, r.at, n = append(row, float32(v)), end, n+1
	}
	r.at++
	return row, nil
}

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// next skips white space and returns the byte there; 0: the end.
func (r *rowReader) next() byte {
	for ; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case ' ', '\t', '\n', '\r':
		default:
			return r.text[r.at]
		}
	}
	return 0
}

// comma skips a comma, which JSON has only between elements.
func (r *rowReader) comma() {
	if r.next() == ',' {
		r.at++
	}
}
