package leakcheck

import (
	"errors"
	"fmt"
	"math/bits"
	"sort"

	"github.com/leakgate/leakgate/golden"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/refscan"
)

func (all *goroutineOptions) look(s *refscan.Snapshot, r *request) (*goroutineSight, error) {
	seen, err := all.read(s, all)
	if err != nil {
		return nil, err
	}
	sight := &goroutineSight{notes: seen.logs}
	sight.report = &refscan.Report{GoVersion: seen.stacks.GoVersion, Pause: seen.stacks.Pause, Warnings: seen.stacks.Warnings}
	now := takeCensus(seen.stacks.Goroutines)
	var base census
	if r.baseline != nil {
		base = r.baseline.goroutines
	}
	for _, o := range all.list {
		if !o.known(now, seen) {
			sight.problems = append(sight.problems, fmt.Sprintf("%s: the program has no function of that name%s",
				o.written, didYouMean(o.pattern.text, seen.functions(), unescapePath)))
			continue
		}
		switch o.check {
		case checkCount:
			sight.findings = append(sight.findings, o.count(now, base))
		case checkLeaked:
			sight.findings = append(sight.findings, o.leaks(seen.leaked))
		case checkBytes:
			f, err := o.bytes(now, base)
			if err != nil {
				return nil, err
			}
			sight.findings = append(sight.findings, f)
		}
	}
	counted, framed := all.patterns(recordCount), all.patterns(recordBytes)
	sight.measured = now.lines(counted, framed)
	if base != nil {
		sight.measured = linesBeyond(sight.measured, base.lines(counted, framed))
	}
	sight.explain = now.explainLines
	sight.failure = sight.boundsFailure
	return sight, nil
}

// known reports whether the program has a function that the option means: a bound on nothing must not pass.
func (o goroutineOption) known(now census, seen *goroutinesSeen) bool {
	if now.goroutinesAt(o.pattern) > 0 {
		return true
	}
	if n, _ := now.stackAt(o.pattern); n > 0 {
		return true
	}
	for _, f := range seen.functions() {
		if o.pattern.matchPrefix(unescapePath(f)) {
			return true
		}
	}
	return false
}

func (o goroutineOption) count(now, base census) goroutineFinding {
	n := max(0, now.goroutinesAt(o.pattern)-base.goroutinesAt(o.pattern))
	f := goroutineFinding{shown: o.written, broken: n > o.limit, amount: "found " + countNoun(n, "goroutine") + sinceNote(base)}
	if f.broken && o.limit > 0 {
		f.amount += fmt.Sprintf(": %s more than allowed", count(n-o.limit))
	}
	var found census
	for _, c := range now {
		if c.isAt(o.pattern) {
			found = append(found, c)
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].count > found[j].count })
	f.explain = found.origins
	f.record = verdict.Bound{Selector: o.shown, MaxObjects: &o.limit, Objects: n}
	if len(found) > 0 {
		f.record.Path = found[0].entry
		f.record.File, f.record.Line = found[0].file, found[0].line
	}
	return f
}

// sinceNote says what a figure is that a baseline was taken from.
func sinceNote(base census) string {
	if base == nil {
		return ""
	}
	return " beyond the baseline"
}

func (o goroutineOption) bytes(now, base census) (goroutineFinding, error) {
	for _, c := range now {
		if c.trace.Problem != "" {
			return goroutineFinding{}, &refscan.UnavailableError{
				Cause:  fmt.Sprintf("the stack of a goroutine started in %s cannot be walked", c.entry),
				Remedy: "please report this as a bug of leakgate, with the Go version and the program",
				Err:    errors.New(c.trace.Problem),
			}
		}
	}
	goroutines, bytes := now.stackAt(o.pattern)
	_, before := base.stackAt(o.pattern)
	bytes = max(0, bytes-before)
	f := goroutineFinding{shown: o.written, broken: bytes > o.limit}
	f.amount = fmt.Sprintf("found %s in %s", byteCount(bytes), countNoun(goroutines, "goroutine")) + sinceNote(base)
	if f.broken {
		f.amount += fmt.Sprintf(": %s more than allowed", byteCount(bytes-o.limit))
	}
	var found census
	for _, c := range now {
		if c.below(o.pattern) != nil {
			found = append(found, c)
		}
	}
	sort.SliceStable(found, func(i, j int) bool {
		a, b := found[i], found[j]
		return a.count*sizeOf(a.below(o.pattern)) > b.count*sizeOf(b.below(o.pattern))
	})
	f.explain = func(env *environment) []string { return found.frameTrace(o.pattern, env) }
	f.record = verdict.Bound{Selector: o.shown, MaxBytes: &o.limit, Objects: goroutines, Bytes: bytes}
	if len(found) > 0 {
		large := largest(found[0].below(o.pattern))
		f.record.Path = unescapePath(frameFunction(large))
		f.record.File, f.record.Line = large.File, large.StartLine
	}
	return f, nil
}

func (o goroutineOption) leaks(leaked []*refscan.LeakedGoroutine) goroutineFinding {
	var mine []*refscan.LeakedGoroutine
	var stack, objects, heap int64
	for _, l := range leaked {
		if c := takeCensus([]*refscan.GoroutineStack{l.GoroutineStack}); len(c) > 0 && c[0].isAt(o.pattern) {
			mine = append(mine, l)
			stack += l.Size()
			objects += l.HeapObjects
			heap += l.HeapBytes
		}
	}
	n := int64(len(mine))
	f := goroutineFinding{shown: o.written, broken: n > 0, amount: "found no goroutine that is blocked for ever"}
	if n > 0 {
		f.amount = fmt.Sprintf("found %s blocked for ever, with %s of stack and %s, %s of heap",
			countNoun(n, "goroutine"), byteCount(stack), countNoun(objects, "object"), byteCount(heap))
	}
	f.explain = func(env *environment) []string { return explainLeaked(mine, env) }
	f.record = verdict.Bound{Selector: o.shown, MaxObjects: &o.limit, Objects: n, Bytes: stack + heap}
	if n > 0 {
		f.record.Path, _ = startOf(mine[0].GoroutineStack)
		f.record.File, f.record.Line = mine[0].CreatedFile, mine[0].CreatedLine
	}
	return f
}

// Prefixes of paths in golden files that are no paths on the heap.
const (
	goroutineLine = "goroutine:"
	stackLine     = "stack:"
)

// name returns what a golden file calls the goroutines.
func (c *crew) name() string {
	name, closure := sourceName(c.entry)
	if closure && c.createdBy != "" && !c.spawned {
		name, _ = sourceName(c.createdBy) // a closure that a function returned has the name of whom that was inlined into
	}
	if closure {
		name += ".func"
	}
	return name
}

func (c *crew) countLine() golden.Measurement {
	m := golden.Measurement{Path: goroutineLine + c.name(), Objects: c.count}
	if by, _ := sourceName(c.createdBy); by != "" {
		m.Type = "created by " + by
	}
	return m
}

// patterns returns those of the options of one kind.
func (all *goroutineOptions) patterns(check goroutineCheck) []pattern {
	var ps []pattern
	for _, o := range all.list {
		if o.check == check {
			ps = append(ps, o.pattern)
		}
	}
	return ps
}

func anyOf(ps []pattern, match func(pattern) bool) bool {
	for _, p := range ps {
		if match(p) {
			return true
		}
	}
	return false
}

// lines measures the goroutines that a pattern of counted means, and the functions that one of framed means.
func (all census) lines(counted, framed []pattern) []golden.Measurement {
	var lines []golden.Measurement
	for _, c := range all {
		if anyOf(counted, c.isAt) {
			lines = append(lines, c.countLine())
		}
		sizes := make(map[string]int64)
		for _, f := range c.frames() {
			name := unescapePath(frameFunction(f))
			if anyOf(framed, func(p pattern) bool { return p.matchPrefix(name) }) {
				sizes[frameLine(name)] += f.Size
			}
		}
		for path, size := range sizes {
			if step := sizeStep(size); step > 0 {
				lines = append(lines, golden.Measurement{Path: path, Type: "frame", Objects: c.count, Bytes: c.count * step, BytesTolerance: oneStep})
			}
		}
	}
	return mergeLines(lines)
}

func frameLine(function string) string {
	name, closure := sourceName(function)
	if closure {
		name += ".func"
	}
	return stackLine + name
}

// sizeStep returns the power of two from 8 KiB on that stands for a size, 0 for sizes up to 6 KiB. Steps change at three
// times a power of two: a frame is an array or so, with a bit more that differs between builds.
func sizeStep(size int64) int64 {
	const least = 8 << 10
	if size <= least*3/4 {
		return 0
	}
	step := int64(1) << (bits.Len64(uint64(size)) - 1)
	if size > step+step/2 {
		step *= 2
	}
	return max(least, step)
}

// mergeLines sums up lines with the same path and type, and sorts them.
func mergeLines(lines []golden.Measurement) []golden.Measurement {
	type key struct{ path, typ string }
	index := make(map[key]int)
	var out []golden.Measurement
	for _, m := range lines {
		k := key{m.Path, m.Type}
		i, ok := index[k]
		if !ok {
			i = len(out)
			index[k] = i
			out = append(out, golden.Measurement{Path: m.Path, Type: m.Type, BytesTolerance: m.BytesTolerance})
		}
		out[i].Objects += m.Objects
		out[i].Bytes += m.Bytes
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Path != out[j].Path {
			return out[i].Path < out[j].Path
		}
		return out[i].Type < out[j].Type
	})
	return out
}

// linesBeyond returns what of the lines goes beyond what was there before.
func linesBeyond(now, before []golden.Measurement) []golden.Measurement {
	var out []golden.Measurement
	for _, m := range now {
		for _, b := range before {
			if b.Path == m.Path && b.Type == m.Type {
				m.Objects, m.Bytes = max(0, m.Objects-b.Objects), max(0, m.Bytes-b.Bytes)
			}
		}
		if m.Objects > 0 || m.Bytes > 0 {
			out = append(out, m)
		}
	}
	return out
}
