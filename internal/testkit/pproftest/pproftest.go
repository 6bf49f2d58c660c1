// Package pproftest reads pprof profiles in tests. It stands in for
// github.com/google/pprof/profile, which this module does not require, so that it does not get into
// the module graph of users either. internal/tests compares the two packages.
package pproftest

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A Profile is the part of profile.proto that our profiles use, with the names of
// github.com/google/pprof/profile.
type Profile struct {
	SampleType        []*ValueType
	DefaultSampleType string
	Sample            []*Sample
	Location          []*Location
	Function          []*Function
	Comments          []string
	TimeNanos         int64
}

// A ValueType names what a sample's value counts, and its unit.
type ValueType struct{ Type, Unit string }

// A Sample has its locations from the leaf to the root, a value of each type, and labels.
type Sample struct {
	Location []*Location
	Value    []int64
	Label    map[string][]string
}

// A Location has a line for each call that was inlined there, the innermost first.
type Location struct {
	ID   uint64
	Line []Line
}

// A Line is a place in a function.
type Line struct {
	Function *Function
	Line     int64
}

// A Function is a function that lines refer to.
type Function struct {
	ID             uint64
	Name, Filename string
	StartLine      int64
}

// Parse reads a gzipped profile. It fails if a reference leads to an entry that does not exist.
func Parse(r io.Reader) (*Profile, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	top, err := decode(content)
	if err != nil {
		return nil, err
	}
	d := decoder{functions: make(map[uint64]*Function), locations: make(map[uint64]*Location)}
	for _, m := range top.messages[6] {
		d.strings = append(d.strings, string(m))
	}
	p := &Profile{DefaultSampleType: d.text(top.one(14)), TimeNanos: int64(top.one(9))}
	for _, s := range top.numbers[13] {
		p.Comments = append(p.Comments, d.text(s))
	}
	d.each(top.messages[1], func(f fields) {
		p.SampleType = append(p.SampleType, &ValueType{Type: d.text(f.one(1)), Unit: d.text(f.one(2))})
	})
	d.each(top.messages[5], func(f fields) {
		fn := &Function{ID: f.one(1), Name: d.text(f.one(2)), Filename: d.text(f.one(4)), StartLine: int64(f.one(5))}
		p.Function = append(p.Function, fn)
		d.functions[fn.ID] = fn
	})
	d.each(top.messages[4], func(f fields) {
		l := &Location{ID: f.one(1)}
		d.each(f.messages[4], func(f fields) {
			l.Line = append(l.Line, Line{Function: found(&d, d.functions, f.one(1)), Line: int64(f.one(2))})
		})
		p.Location = append(p.Location, l)
		d.locations[l.ID] = l
	})
	d.each(top.messages[2], func(f fields) { p.Sample = append(p.Sample, d.sample(f, len(p.SampleType))) })
	return p, d.err
}

// A decoder resolves references. It keeps the first error.
type decoder struct {
	strings   []string
	functions map[uint64]*Function
	locations map[uint64]*Location
	err       error
}

func (d *decoder) sample(f fields, values int) *Sample {
	s := &Sample{Label: make(map[string][]string)}
	for _, id := range f.numbers[1] {
		s.Location = append(s.Location, found(d, d.locations, id))
	}
	for _, v := range f.numbers[2] {
		s.Value = append(s.Value, int64(v))
	}
	if len(s.Value) != values {
		d.err = errors.Join(d.err, fmt.Errorf("a sample has %d values, and there are %d types", len(s.Value), values))
	}
	d.each(f.messages[3], func(f fields) {
		if key := d.text(f.one(1)); f.one(2) != 0 {
			s.Label[key] = append(s.Label[key], d.text(f.one(2)))
		}
	})
	return s
}

func (d *decoder) text(i uint64) string {
	if i < uint64(len(d.strings)) {
		return d.strings[i]
	}
	d.err = errors.Join(d.err, fmt.Errorf("there is no text %d", i))
	return ""
}

func (d *decoder) each(messages [][]byte, do func(fields)) {
	for _, m := range messages {
		f, err := decode(m)
		if err != nil {
			d.err = errors.Join(d.err, err)
			return
		}
		do(f)
	}
}

func found[T any](d *decoder, all map[uint64]*T, id uint64) *T {
	if all[id] == nil {
		d.err = errors.Join(d.err, fmt.Errorf("there is no %T %d", all[id], id))
	}
	return all[id]
}

// fields are a message's numbers and nested messages, by field number. A packed field is in both.
type fields struct {
	numbers  map[uint64][]uint64
	messages map[uint64][][]byte
}

func (f fields) one(field uint64) uint64 {
	if n := f.numbers[field]; len(n) > 0 {
		return n[len(n)-1]
	}
	return 0
}

var errWire = errors.New("damaged message")

func decode(b []byte) (fields, error) {
	f := fields{make(map[uint64][]uint64), make(map[uint64][][]byte)}
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		value, m := uint64(0), 0
		if n > 0 {
			value, m = binary.Uvarint(b[n:])
		}
		if m <= 0 {
			return f, errWire
		}
		b = b[n+m:]
		switch field := tag >> 3; tag & 7 {
		case 0:
			f.numbers[field] = append(f.numbers[field], value)
		case 2:
			if value > uint64(len(b)) {
				return f, errWire
			}
			f.messages[field] = append(f.messages[field], b[:value])
			f.numbers[field] = append(f.numbers[field], packed(b[:value])...)
			b = b[value:]
		default:
			return f, fmt.Errorf("%w: wire type %d", errWire, tag&7)
		}
	}
	return f, nil
}

// packed decodes the numbers of a packed field. For a text or a message the result has no meaning.
func packed(b []byte) (numbers []uint64) {
	for len(b) > 0 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil
		}
		numbers, b = append(numbers, v), b[n:]
	}
	return numbers
}
