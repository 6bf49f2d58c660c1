package dump

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// rawHeaders are what a text of "pprof -raw" may begin with (google/pprof profile/profile.go,
// Profile.String).
var rawHeaders = []string{"PeriodType: ", "Period: ", "Comment: ", "Doc: ", "Samples:"}

func isRaw(start string) bool {
	return slices.ContainsFunc(rawHeaders, func(header string) bool { return strings.HasPrefix(start, header) })
}

// Lines of the text. Lines of code have no columns before 2023.
var (
	rawLocation = regexp.MustCompile(`^ *(\d+): (0x[0-9a-f]+) (?:M=(\d+) )?(\[F\] )?(.*)$`)
	rawLine     = regexp.MustCompile(`^(.*) (\S*):(-?\d+):-?\d+ s=(-?\d+)(?:\((.*)\))?$`)
	rawOldLine  = regexp.MustCompile(`^(.*) (\S*):(-?\d+) s=(-?\d+)(?:\((.*)\))?$`)
	rawMapping  = regexp.MustCompile(`^(\d+): (0x[0-9a-f]+)/(0x[0-9a-f]+)/(0x[0-9a-f]+) (.*?)(?: ([0-9a-f]*))?(?: (?:\[\w+\])*)?$`)
)

const (
	rawLabel   = "                " // begins the labels of a sample, which are left out
	rawInlined = "             "    // begins a further function of a location
)

// A rawReader reads what "pprof -raw" prints.
type rawReader struct {
	p         *profile.Profile
	section   string
	stacks    [][]uint64 // the locations of each sample
	locations map[uint64]*profile.Location
	mappingOf map[*profile.Location]uint64
	mappings  map[uint64]*profile.Mapping
	functions map[profile.Function]*profile.Function
	last      *profile.Location
}

func parseRaw(data []byte) (*profile.Profile, error) {
	r := &rawReader{
		p: new(profile.Profile), locations: make(map[uint64]*profile.Location), mappingOf: make(map[*profile.Location]uint64),
		mappings: make(map[uint64]*profile.Mapping), functions: make(map[profile.Function]*profile.Function),
	}
	err := EachLine(data, func(n int, line string) error {
		if line = strings.TrimRight(line, "\r"); strings.TrimSpace(line) != "" && !r.read(line) {
			return fmt.Errorf("line %d is none that pprof -raw prints there: %.60q", n, line)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.join()
}

// read reads a line, and reports whether it is one of its section.
func (r *rawReader) read(line string) bool {
	switch line {
	case "Samples:", "Locations", "Mappings":
		r.section = line
		return true
	}
	switch {
	case r.section == "":
		r.header(line)
		return true
	case r.section == "Samples:" && len(r.p.SampleType) == 0:
		return r.types(line)
	case r.section == "Samples:":
		return strings.HasPrefix(line, rawLabel) || r.sample(line)
	case r.section == "Locations":
		return r.location(line)
	}
	return r.mapping(line)
}

func (r *rawReader) header(line string) {
	name, value, _ := strings.Cut(line, ": ")
	switch name {
	case "PeriodType":
		kind, unit, _ := strings.Cut(value, " ")
		r.p.PeriodType = &profile.ValueType{Type: kind, Unit: unit}
	case "Period":
		r.p.Period, _ = strconv.ParseInt(value, 10, 64)
	case "Comment":
		r.p.Comments = append(r.p.Comments, value)
	}
}

func (r *rawReader) types(line string) bool {
	for _, field := range strings.Fields(line) {
		name, preferred := strings.CutSuffix(field, "[dflt]")
		kind, unit, ok := strings.Cut(name, "/")
		if !ok {
			return false
		}
		if preferred {
			r.p.DefaultSampleType = kind
		}
		r.p.SampleType = append(r.p.SampleType, &profile.ValueType{Type: kind, Unit: unit})
	}
	return true
}

func (r *rawReader) sample(line string) bool {
	values, stack, ok := strings.Cut(line, ":")
	s := new(profile.Sample)
	for _, field := range strings.Fields(values) {
		n, err := strconv.ParseInt(field, 10, 64)
		ok = ok && err == nil
		s.Value = append(s.Value, n)
	}
	var ids []uint64
	for _, field := range strings.Fields(stack) {
		n, err := strconv.ParseUint(field, 10, 64)
		ok = ok && err == nil
		ids = append(ids, n)
	}
	r.p.Sample, r.stacks = append(r.p.Sample, s), append(r.stacks, ids)
	return ok && len(s.Value) == len(r.p.SampleType)
}

func (r *rawReader) location(line string) bool {
	if strings.HasPrefix(line, rawInlined) {
		return r.last != nil && r.function(line[len(rawInlined):])
	}
	m := rawLocation.FindStringSubmatch(line + " ")
	if m == nil {
		return false
	}
	id, err := strconv.ParseUint(m[1], 10, 64)
	address, err2 := strconv.ParseUint(m[2], 0, 64)
	if err != nil || err2 != nil || id == 0 || r.locations[id] != nil {
		return false
	}
	r.last = &profile.Location{ID: id, Address: address, IsFolded: m[4] != ""}
	r.locations[id] = r.last
	r.p.Location = append(r.p.Location, r.last)
	if m[3] != "" {
		if r.mappingOf[r.last], err = strconv.ParseUint(m[3], 10, 64); err != nil {
			return false
		}
	}
	name := strings.TrimSpace(m[5])
	return name == "" || r.function(name)
}

// function adds a function to the last location.
func (r *rawReader) function(text string) bool {
	text = strings.TrimSpace(text)
	if text == "??" {
		return true
	}
	m := rawLine.FindStringSubmatch(text)
	if m == nil {
		m = rawOldLine.FindStringSubmatch(text)
	}
	if m == nil {
		return false
	}
	line, err := strconv.ParseInt(m[3], 10, 64)
	start, err2 := strconv.ParseInt(m[4], 10, 64)
	f := profile.Function{Name: m[1], SystemName: m[1], Filename: m[2], StartLine: start}
	if m[5] != "" {
		f.SystemName = m[5]
	}
	known := r.functions[f]
	if known == nil {
		known = &f
		r.functions[f] = known
		f.ID = uint64(len(r.functions))
		r.p.Function = append(r.p.Function, known)
	}
	r.last.Line = append(r.last.Line, profile.Line{Function: known, Line: line})
	return err == nil && err2 == nil
}

func (r *rawReader) mapping(line string) bool {
	m := rawMapping.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	var n [4]uint64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseUint(m[i+1], 0, 64); err != nil {
			return false
		}
	}
	if n[0] == 0 || r.mappings[n[0]] != nil {
		return false
	}
	r.mappings[n[0]] = &profile.Mapping{ID: n[0], Start: n[1], Limit: n[2], Offset: n[3], File: m[5], BuildID: m[6]}
	r.p.Mapping = append(r.p.Mapping, r.mappings[n[0]])
	return true
}

// join replaces numbers of locations and mappings by these.
func (r *rawReader) join() (*profile.Profile, error) {
	if r.section != "Mappings" {
		return nil, errors.New("it has no Mappings at its end: it may be cut off")
	}
	for i, ids := range r.stacks {
		for _, id := range ids {
			l := r.locations[id]
			if l == nil {
				return nil, fmt.Errorf("it has no location %d, which a sample is of", id)
			}
			r.p.Sample[i].Location = append(r.p.Sample[i].Location, l)
		}
	}
	for l, id := range r.mappingOf {
		if l.Mapping = r.mappings[id]; l.Mapping == nil {
			return nil, fmt.Errorf("it has no mapping %d, which location %d is of", id, l.ID)
		}
	}
	return r.p, nil
}
