// Package pprofwire writes pprof profiles (profile.proto, gzipped), as runtime/pprof does with an
// encoder of its own. It links into users' test binaries, where github.com/google/pprof/profile
// would add 80 KB and compile twenty regular expressions at start-up. Tests read this package's
// profiles with that one. The package also sums stack profiles by function.
package pprofwire

import (
	"compress/gzip"
	"encoding/binary"
	"io"
)

// ValueType names what a sample's value counts, and its unit.
type ValueType struct{ Type, Unit string }

// A Profile is built up and then written. The zero value is not ready; see New.
type Profile struct {
	buf       []byte // fields of the message so far
	strings   map[string]int64
	table     []string
	locations map[Line]uint64
	functions map[Line]uint64 // by a Line whose field Line is 0
	places    uint64          // number of locations
	values    int
}

// A Line is a position in a function. A location has several where calls were inlined.
type Line struct {
	Func, File      string
	Line, StartLine int64 // StartLine is that of the function
}

// A Label is a text of a sample, which "go tool pprof" can filter and group by.
type Label struct{ Key, Value string }

// Field numbers of profile.proto.
const (
	profileSampleType    = 1
	profileSample        = 2
	profileLocation      = 4
	profileFunction      = 5
	profileStringTable   = 6
	profileTimeNanos     = 9
	profileComment       = 13
	profileDefaultSample = 14

	valueTypeType = 1
	valueTypeUnit = 2

	sampleLocation = 1
	sampleValue    = 2
	sampleLabel    = 3

	labelKey = 1
	labelStr = 2

	locationID   = 1
	locationLine = 4

	lineFunction = 1
	lineLine     = 2

	functionID         = 1
	functionName       = 2
	functionSystemName = 3
	functionFilename   = 4
	functionStartLine  = 5
)

// New starts a profile whose samples have one value of each type; first names the type that pprof
// shows first.
func New(timeNanos int64, types []ValueType, first string) *Profile {
	p := &Profile{strings: map[string]int64{"": 0}, table: []string{""}, locations: make(map[Line]uint64), functions: make(map[Line]uint64), values: len(types)}
	for _, t := range types {
		var m []byte
		m = integer(m, valueTypeType, p.text(t.Type))
		m = integer(m, valueTypeUnit, p.text(t.Unit))
		p.buf = message(p.buf, profileSampleType, m)
	}
	p.buf = integer(p.buf, profileTimeNanos, timeNanos)
	p.buf = integer(p.buf, profileDefaultSample, p.text(first))
	return p
}

// Location returns the number of the location for a position without inlined calls; equal positions
// share a location.
func (p *Profile) Location(name, file string, line int64) uint64 {
	l := Line{name, file, line, line}
	id, ok := p.locations[l]
	if !ok {
		id = p.Inlined(l)
		p.locations[l] = id
	}
	return id
}

// Inlined returns the number of a new location with these lines, the innermost call first.
func (p *Profile) Inlined(lines ...Line) uint64 {
	p.places++
	loc := integer(nil, locationID, int64(p.places))
	for _, l := range lines {
		ln := integer(nil, lineFunction, p.function(l))
		loc = message(loc, locationLine, integer(ln, lineLine, l.Line))
	}
	p.buf = message(p.buf, profileLocation, loc)
	return p.places
}

func (p *Profile) function(l Line) int64 {
	l.Line = 0
	id, ok := p.functions[l]
	if !ok {
		id = uint64(len(p.functions) + 1)
		p.functions[l] = id
		fn := integer(nil, functionID, int64(id))
		fn = integer(fn, functionName, p.text(l.Func))
		fn = integer(fn, functionSystemName, p.text(l.Func))
		fn = integer(fn, functionFilename, p.text(l.File))
		p.buf = message(p.buf, profileFunction, integer(fn, functionStartLine, l.StartLine))
	}
	return int64(id)
}

// Sample adds a sample: its locations from the leaf to the root, and a value of each type.
func (p *Profile) Sample(leafFirst []uint64, values ...int64) { p.Labelled(leafFirst, nil, values...) }

// Labelled adds a sample with labels.
func (p *Profile) Labelled(leafFirst []uint64, labels []Label, values ...int64) {
	var m []byte
	for _, id := range leafFirst {
		m = always(m, sampleLocation, id)
	}
	for i := range p.values {
		m = always(m, sampleValue, uint64(values[i]))
	}
	for _, l := range labels {
		text := integer(integer(nil, labelKey, p.text(l.Key)), labelStr, p.text(l.Value))
		m = message(m, sampleLabel, text)
	}
	p.buf = message(p.buf, profileSample, m)
}

// Comment adds a remark for readers of the profile.
func (p *Profile) Comment(text string) { p.buf = integer(p.buf, profileComment, p.text(text)) }

// Write writes the profile, gzipped.
func (p *Profile) Write(w io.Writer) error {
	z := gzip.NewWriter(w)
	out := p.buf
	for _, s := range p.table {
		out = message(out, profileStringTable, []byte(s))
	}
	if _, err := z.Write(out); err != nil {
		return err
	}
	return z.Close()
}

func (p *Profile) text(s string) int64 {
	i, ok := p.strings[s]
	if !ok {
		i = int64(len(p.table))
		p.strings[s] = i
		p.table = append(p.table, s)
	}
	return i
}

// integer appends a field with a number, or nothing if the number is 0.
func integer(b []byte, field int, v int64) []byte {
	if v == 0 {
		return b
	}
	return always(b, field, uint64(v))
}

// always appends a field with a number.
func always(b []byte, field int, v uint64) []byte { return tagged(b, uint64(field)<<3, v) }

// message appends a field that holds bytes.
func message(b []byte, field int, m []byte) []byte {
	return append(tagged(b, uint64(field)<<3|2, uint64(len(m))), m...)
}

// tagged appends a field's number and type, and a number. Inlined at its calls it would take 8 KB.
//
//go:noinline
func tagged(b []byte, tag, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, tag), v)
}
