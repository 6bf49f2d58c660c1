package dump

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// parseCollapsed reads collapsed stacks, as the scripts stackcollapse-*.pl of FlameGraph write
// them: a stack in each line, its functions from the outermost on, with ";" between, and a number.
// A frame that is an address in hexadecimal has no name yet.
func parseCollapsed(data []byte) (*profile.Profile, error) {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}}
	frames := make(map[string]*profile.Location)
	err := EachLine(data, func(n int, line string) error {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			return nil
		}
		i := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseInt(line[i+1:], 10, 64)
		if i <= 0 || err != nil {
			return fmt.Errorf("line %d is no stack with a number at its end: %.60q", n, line)
		}
		s := &profile.Sample{Value: []int64{value}}
		for name := range strings.SplitSeq(line[:i], ";") {
			s.Location = append(s.Location, collapsedFrame(p, frames, strings.TrimSpace(name)))
		}
		slices.Reverse(s.Location)
		p.Sample = append(p.Sample, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(p.Sample) == 0 {
		return nil, errors.New("it has no stack")
	}
	return p, nil
}

// collapsedFrame returns the location of a frame, which it adds to the profile the first time.
func collapsedFrame(p *profile.Profile, frames map[string]*profile.Location, name string) *profile.Location {
	l := frames[name]
	if l != nil {
		return l
	}
	l = &profile.Location{ID: uint64(len(frames) + 1)}
	frames[name] = l
	p.Location = append(p.Location, l)
	if digits, ok := strings.CutPrefix(strings.Trim(name, "[]"), "0x"); ok {
		if address, err := strconv.ParseUint(digits, 16, 64); err == nil {
			l.Address = address
			return l
		}
	}
	f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name}
	p.Function = append(p.Function, f)
	l.Line = []profile.Line{{Function: f}}
	return l
}

// WriteCollapsed writes the stacks of a profile in this form, in order, by their values of the
// profile's default type, which is the last one unless it says so.
func WriteCollapsed(w io.Writer, p *profile.Profile) error {
	index, err := p.SampleIndexByName("")
	if err != nil {
		return err
	}
	of := make(map[string]int64)
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				names = append(names, strings.ReplaceAll(line.Function.Name, ";", ":"))
			}
		}
		slices.Reverse(names)
		of[strings.Join(names, ";")] += s.Value[index]
	}
	var stacks []string
	for stack, value := range of {
		if stack != "" && value != 0 {
			stacks = append(stacks, stack)
		}
	}
	slices.Sort(stacks)
	var b bytes.Buffer
	for _, stack := range stacks {
		fmt.Fprintf(&b, "%s %d\n", stack, of[stack])
	}
	_, err = w.Write(b.Bytes())
	return err
}
