package dump

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

// The formats. tcmalloc writes gperftools' format.
const (
	Gperftools = "gperftools"
	Jemalloc   = "jemalloc"
	Pprof      = "pprof" // binary, or the text of pprof -raw
	Collapsed  = "collapsed"
)

// A HeapProfile is a profile that was read.
type HeapProfile struct {
	Format string
	// Profile has the samples. An address lies in the call instruction, not behind it, as in all
	// pprof profiles. Locations of a text have no mapping.
	Profile *profile.Profile
	// Maps are the mappings at the end of a text, sorted by address, or those of a profile in
	// pprof's format, with the indices of Profile.Mapping, not sorted. nil if there are none.
	Maps []*Mapping
	// Notes are remarks on what is odd about the profile.
	Notes []string
}

// The beginnings of texts. jemalloc before version 4 writes gperftools' format.
const (
	heapHeader     = "heap profile:"
	jemallocHeader = "heap_v2/"
)

// ParseHeapProfile reads a profile and detects its format. The error says what was expected.
func ParseHeapProfile(data []byte) (*HeapProfile, error) {
	data, err := cli.Unpack(data)
	if err != nil {
		return nil, err
	}
	start := strings.TrimSpace(string(data[:min(len(data), 64)]))
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("it is empty: a program that ends before its profile is written leaves it so")
	case strings.HasPrefix(start, heapHeader):
		return parseText(data, Gperftools, parseGperftools)
	case strings.HasPrefix(start, jemallocHeader):
		return parseText(data, Jemalloc, parseJemalloc)
	case strings.HasPrefix(start, "--- symbol"):
		return nil, errors.New("it has names already (jeprof --raw or pprof --raw wrote it): give the file that the allocator wrote")
	}
	var p *profile.Profile
	if isRaw(start) {
		p, err = parseRaw(data)
	} else if p, err = profile.ParseData(data); err != nil {
		stacks, not := parseCollapsed(data)
		if not == nil {
			return &HeapProfile{Format: Collapsed, Profile: stacks}, nil
		}
		err = fmt.Errorf("%w; as stacks: %w", err, not)
	}
	if err == nil {
		err = p.CheckValid()
	}
	if err == nil && len(p.SampleType) == 0 {
		err = errors.New("no types of values")
	}
	if err != nil {
		return nil, fmt.Errorf("it is neither a text of gperftools (%q), tcmalloc or jemalloc (%q) nor a profile of pprof's, nor what pprof -raw prints (%q), nor collapsed stacks (%q): %w",
			heapHeader+" ...", jemallocHeader+"...", rawHeaders[0]+"...", "main;f 12", err)
	}
	f := &HeapProfile{Format: Pprof, Profile: p}
	for _, m := range p.Mapping {
		f.Maps = append(f.Maps, MappingOf(m))
	}
	return f, nil
}

// mapTitles are the headings of the memory map at the end of a text.
var mapTitles = []string{"\nMAPPED_LIBRARIES:", "\n--- Memory map: ---"}

// parseText reads the two parts of a text: the samples, with parse, and the memory map.
func parseText(data []byte, format string, parse func(samples []byte) (*profile.Profile, []string, error)) (*HeapProfile, error) {
	samples, maps := data, []byte(nil)
	for _, title := range mapTitles {
		if i := bytes.Index(data, []byte(title)); i >= 0 {
			samples, maps = data[:i+1], data[i+len(title):]
			break
		}
	}
	f := &HeapProfile{Format: format}
	var err error
	if f.Profile, f.Notes, err = parse(samples); err != nil {
		return nil, err
	}
	if maps == nil {
		f.Notes = append(f.Notes, "it has no MAPPED_LIBRARIES at its end, so it may be cut off: -maps names the process's /proc/PID/maps")
		return f, nil
	}
	if f.Maps, err = ParseMaps(maps); err != nil {
		f.Notes = append(f.Notes, "its MAPPED_LIBRARIES cannot be used ("+err.Error()+"): -maps names the process's /proc/PID/maps")
	}
	return f, nil
}

// parseGperftools reads the samples with google/pprof, but not the memory map, in which
// google/pprof merges neighbouring mappings (see ParseMaps).
func parseGperftools(samples []byte) (*profile.Profile, []string, error) {
	p, err := profile.ParseData(samples)
	if err != nil {
		return nil, nil, fmt.Errorf("its samples cannot be read: %w", err)
	}
	p.Mapping = nil
	for _, l := range p.Location {
		l.Mapping = nil
	}
	return p, checkBlockCount(samples, p), nil
}

// checkBlockCount compares the number of blocks in the header of gperftools' text with the sum over
// its samples, and returns a note if they differ. It does not compare sampled profiles, whose sums
// are scaled.
func checkBlockCount(samples []byte, p *profile.Profile) []string {
	var want, bytes, got int64
	if n, _ := fmt.Sscanf(strings.TrimSpace(string(samples[:min(len(samples), 256)])), heapHeader+"%d:%d", &want, &bytes); n != 2 || p.Period > 1 {
		return nil
	}
	index := len(p.SampleType) - 2 // objects that are in use
	for _, s := range p.Sample {
		got += s.Value[index]
	}
	if got == want {
		return nil
	}
	return []string{fmt.Sprintf("its lines are about %d blocks, and its first line says that there are %d: it may be cut off", got, want)}
}
