package dump

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// A jemallocParser reads the text of jemalloc 4 and later (src/prof_data.c, prof_dump_impl): after
// the header, lines with the sums of all threads ("t*:") and of each thread; then, for each stack,
// a line with its addresses and the same lines for this stack.
type jemallocParser struct {
	profile   *profile.Profile
	locations map[uint64]*profile.Location
	stack     []*profile.Location // the stack that the next counts are about; nil in the header
	want, got [4]int64            // counts of all threads: in the header, and summed over the stacks
	accum     bool                // the profile also counts all that was ever allocated (prof_accum)
}

var (
	jemallocCount = regexp.MustCompile(`^t(\*|[0-9]+): ([0-9]+): ([0-9]+) \[([0-9]+): ([0-9]*)\]`)
	// jemallocFrames matches the frames that viewers leave out: jemalloc's own functions, which
	// have no names in Debian's library, and functions that only call them.
	jemallocFrames = `(je_|_rjem_).*|(_rjem_)?(malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|memalign|valloc|pvalloc|mallocx|rallocx|xallocx)|` +
		`prof_(backtrace|alloc_prep|tctx_create).*|(imalloc|ialloc|iralloc|do_rallocx|malloc_default|fallback_impl|fallbackNewImpl|newImpl).*|operator new(\[\])?|libjemalloc\.so.*`
)

func parseJemalloc(samples []byte) (*profile.Profile, []string, error) {
	j := &jemallocParser{locations: make(map[uint64]*profile.Location), profile: &profile.Profile{
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"},
		DropFrames: jemallocFrames,
	}}
	err := EachLine(samples, func(n int, line string) error {
		if err := j.read(strings.TrimSpace(line)); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	p := j.finish()
	var notes []string
	if j.want[0] != j.got[0] {
		notes = append(notes, fmt.Sprintf("its stacks are about %d sampled blocks, and its first lines say that there are %d: it may be cut off", j.got[0], j.want[0]))
	}
	return p, notes, p.CheckValid()
}

// read reads one line.
func (j *jemallocParser) read(line string) error {
	switch {
	case j.profile.Period == 0:
		if line == "" {
			return nil
		}
		return j.header(line)
	case line == "":
		return nil
	case strings.HasPrefix(line, "@"):
		return j.addresses(strings.Fields(line[1:]))
	}
	part := jemallocCount.FindStringSubmatch(line)
	if part == nil {
		return fmt.Errorf("%.60q is neither a stack (\"@ 0x...\") nor a count (\"t*: blocks: bytes [blocks: bytes]\")", line)
	}
	if part[1] != "*" {
		return nil // the counts of one thread, which are part of those of "t*"
	}
	return j.count(part[2:])
}

func (j *jemallocParser) header(line string) error {
	rate, err := strconv.ParseInt(strings.TrimPrefix(line, jemallocHeader), 10, 64)
	if err != nil || rate < 1 {
		return fmt.Errorf("%.60q is no header: it is %q and the number of bytes between samples", line, jemallocHeader)
	}
	j.profile.Period = rate
	return nil
}

func (j *jemallocParser) addresses(fields []string) error {
	j.stack = make([]*profile.Location, 0, len(fields))
	for _, field := range fields {
		addr, err := strconv.ParseUint(field, 0, 64)
		if err != nil {
			return fmt.Errorf("%.60q is no address", field)
		}
		if addr == 0 {
			continue
		}
		addr-- // from the return address into the call
		l := j.locations[addr]
		if l == nil {
			l = &profile.Location{ID: uint64(len(j.locations) + 1), Address: addr}
			j.locations[addr] = l
			j.profile.Location = append(j.profile.Location, l)
		}
		j.stack = append(j.stack, l)
	}
	return nil
}

// count reads the blocks and bytes in use, and the blocks and bytes that were ever allocated.
func (j *jemallocParser) count(fields []string) error {
	var v [4]int64
	for i := range v {
		var err error
		if v[i], err = strconv.ParseInt(fields[i], 10, 64); err != nil && fields[i] != "" {
			return fmt.Errorf("%.60q is no count", fields[i])
		}
	}
	if j.stack == nil {
		j.want, j.accum = v, v[2] != 0
		return nil
	}
	for i := range v {
		j.got[i] += v[i]
	}
	objects, space := unsampled(v[0], v[1], j.profile.Period)
	everObjects, everSpace := unsampled(v[2], v[3], j.profile.Period)
	if objects|space|everObjects|everSpace == 0 {
		return nil
	}
	size := int64(0)
	if v[0] != 0 {
		size = v[1] / v[0]
	} else if v[2] != 0 {
		size = v[3] / v[2]
	}
	j.profile.Sample = append(j.profile.Sample, &profile.Sample{
		Location: j.stack, Value: []int64{everObjects, everSpace, objects, space}, NumLabel: map[string][]int64{"bytes": {size}},
	})
	return nil
}

// finish sets the types of the values. It keeps the values of all that was ever allocated only if
// jemalloc was told to count them.
func (j *jemallocParser) finish() *profile.Profile {
	types := []*profile.ValueType{
		{Type: "alloc_objects", Unit: "count"},
		{Type: "alloc_space", Unit: "bytes"},
		{Type: "inuse_objects", Unit: "count"},
		{Type: "inuse_space", Unit: "bytes"},
	}
	p := j.profile
	p.SampleType, p.DefaultSampleType = types, "inuse_space"
	if !j.accum {
		p.SampleType = types[2:]
		for _, s := range p.Sample {
			s.Value = s.Value[2:]
		}
	}
	return p
}

// unsampled estimates the true numbers from the sampled ones, as jeprof does: a block of size s is
// sampled with the probability 1 - exp(-s/rate).
func unsampled(objects, space, rate int64) (int64, int64) {
	if objects == 0 || space == 0 || rate <= 1 {
		return objects, space
	}
	scale := 1 / (1 - math.Exp(-float64(space)/float64(objects)/float64(rate)))
	return int64(math.Round(float64(objects) * scale)), int64(math.Round(float64(space) * scale))
}
