package scanreport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/pprofwire"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/wholefile"
	"github.com/leakgate/leakgate/refscan"
)

// A Spike is a garbage collection of a process that found much more alive than is usual.
type Spike struct {
	Source     string // "process 1234"
	At         time.Time
	Collection uint64 // its number, from 1
	// The bytes that the collection found alive, the usual bytes, and the most that are no spike.
	// Live is certain if it includes nothing that was allocated during marking, which may be
	// garbage.
	Live, Usual, Limit int64
	Certain            bool
	LeftOut            int // collections beyond the threshold ignored since the previous spike
	Missed             int // collections so far that ended between two readings, and were not judged

	Scan *Scan // taken at once; nil: there is none
	Err  error // why there is none
	Base *Scan // taken before, while no more was alive than usual; nil: there is none
	// why there is none, or why the two cannot be compared; nil where none was asked for
	BaseErr error

	// Recorded is what stacks had allocated that was alive at the end of the mark phase, by the
	// memory profiler's samples; nil: unknown. Much of it may be freed by the time of Scan.
	Recorded []Recorded

	HeapBase, Heap []byte // heap profiles; nil where there are none
}

// A Recorded is what one stack has allocated, in bytes: what was alive of that at the end of a mark
// phase, and at an earlier moment.
type Recorded struct {
	Stack         []refscan.SourceFrame // the innermost first
	Before, Alive int64
}

// SetRecorded sets Recorded, and makes of it the pair of heap profiles, of the earlier moment and
// of the mark phase. It does nothing if there are no records.
func (s *Spike) SetRecorded(all []Recorded) {
	if len(all) == 0 {
		return
	}
	s.Recorded = all
	s.HeapBase = heapProfile(all, func(r *Recorded) int64 { return r.Before })
	s.Heap = heapProfile(all, func(r *Recorded) int64 { return r.Alive })
}

func heapProfile(all []Recorded, bytesOf func(*Recorded) int64) []byte {
	p := pprofwire.New(time.Now().UnixNano(), []pprofwire.ValueType{{Type: "inuse_space", Unit: "bytes"}}, "inuse_space")
	for i := range all {
		r := &all[i]
		if bytesOf(r) <= 0 || len(r.Stack) == 0 {
			continue
		}
		var stack []uint64
		for _, f := range r.Stack {
			stack = append(stack, p.Location(f.Func, f.File, int64(f.Line)))
		}
		p.Sample(stack, bytesOf(r))
	}
	var b bytes.Buffer
	if p.Write(&b) != nil {
		return nil
	}
	return b.Bytes()
}

// Held reports whether the snapshot, too, shows more than the threshold.
func (s *Spike) Held() bool {
	return s.Scan != nil && s.Scan.Report.Totals.AttributedBytes > s.Limit
}

// IsNone reports whether the snapshot shows that there was no spike: Live is not certain, and the
// snapshot has no more than Limit.
func (s *Spike) IsNone() bool { return !s.Certain && s.Scan != nil && !s.Held() }

// Headline describes the spike in one line, without a line end.
func (s *Spike) Headline() string {
	return fmt.Sprintf("%s alive in %s at the end of mark phase %s, %s more than usual (%s)", textfmt.ByteCount(s.Live), s.Source,
		textfmt.Count(int64(s.Collection)), textfmt.ByteCount(s.Live-s.Usual), textfmt.ByteCount(s.Usual))
}

// WriteText writes what is known of the spike: the places that hold more than at the snapshot
// before, and the roots that hold most, at most limit of both.
func (s *Spike) WriteText(w io.Writer, limit int) error {
	var b strings.Builder
	b.WriteString(s.Headline() + "\n")
	if s.LeftOut > 0 {
		fmt.Fprintf(&b, "since the spike before, %s beyond the threshold left out because of the limits\n", textfmt.CountNoun(int64(s.LeftOut), "mark phase"))
	}
	if s.Missed > 0 {
		fmt.Fprintf(&b, "so far %s ended between two readings, and were not judged\n", textfmt.CountNoun(int64(s.Missed), "mark phase"))
	}
	s.writeHolding(&b)
	held := s.Held() // then what holds it comes first
	if !held {
		s.writeRecorded(&b)
	}
	if err := s.writeSnapshot(&b, limit); err != nil {
		return err
	}
	if held {
		s.writeRecorded(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeRecorded writes which stacks had allocated more that was alive than before.
func (s *Spike) writeRecorded(b *strings.Builder) {
	if len(s.HeapBase) == 0 || len(s.Heap) == 0 {
		b.WriteString("where it was allocated is not known: the memory profiler's records of that moment are gone, or there are none (a program that does not link runtime.MemProfile, by runtime/pprof as a rule, has none)\n")
		return
	}
	const profiles = "go tool pprof -base " + heapBaseFile + " " + heapFile + "\n"
	if s.Recorded == nil {
		b.WriteString("\nall that was allocated and alive then, by samples: " + profiles)
		return
	}
	of := make(map[string]int64)
	for _, r := range s.Recorded {
		of[stackText(r.Stack)] += r.Alive - r.Before
	}
	b.WriteString("\nalive at the end of that mark phase and not before, by samples:\n")
	if writeStacks(b, of, "    %s allocated at:\n%s") == 0 {
		b.WriteString("    nothing\n")
	}
	b.WriteString("all of it: " + profiles)
}

// writeHolding writes whether the snapshot shows the memory.
func (s *Spike) writeHolding(b *strings.Builder) {
	if s.Scan == nil {
		b.WriteString("who held it is not known")
		if s.Err != nil {
			fmt.Fprintf(b, ": %v", s.Err)
		}
		b.WriteString("\n")
		return
	}
	r := s.Scan.Report
	shows := textfmt.ByteCount(r.Totals.AttributedBytes)
	if s.Held() {
		fmt.Fprintf(b, "a snapshot at once shows %s held\n", shows)
	} else {
		fmt.Fprintf(b, "it was gone when a snapshot was taken at once, which shows %s held: who held it is not known\n", shows)
	}
	if why := s.Scan.Unsound(); why != "" {
		fmt.Fprintf(b, "the figures are not reliable: %s\n", why)
	}
}

// writeSnapshot writes what the snapshot shows.
func (s *Spike) writeSnapshot(b *strings.Builder, limit int) error {
	if s.Scan == nil {
		return nil
	}
	growth, err := s.growth()
	switch {
	case err != nil:
		b.WriteString("\n")
		fmt.Fprintf(b, "what is more than usual is not told apart: %v\n", err)
	case growth != nil:
		b.WriteString("\n")
		growth.writeHeld(b, limit)
	}
	b.WriteString("\n")
	return s.Scan.WriteText(b, limit)
}

// growth compares the snapshot with the earlier one; nil if there is none and none was asked for.
func (s *Spike) growth() (*Growth, error) {
	switch {
	case s.BaseErr != nil:
		return nil, s.BaseErr
	case s.Base == nil:
		return nil, nil
	}
	return s.Scan.Since(s.Base)
}

// Names of the files in a folder.
const (
	textFile     = "spike.txt"
	reportFile   = "report.json"
	baseFile     = "base.json"
	retainedFile = "retained.pb.gz"
	heapFile     = "heap.pb.gz"
	heapBaseFile = "heap.base.pb.gz"
)

// shownInFile is how many places and roots the text in a file lists.
const shownInFile = 50

// WriteFolder makes a folder in dir, which has to exist, with the text, the report, the profile of
// what is retained, and the heap profiles, as far as they exist. The folder is made as a whole or
// not at all. WriteFolder returns its path.
func (s *Spike) WriteFolder(dir string) (path string, err error) {
	var text, report, base, retained bytes.Buffer
	err = s.WriteText(&text, shownInFile)
	if s.Scan != nil {
		err = errors.Join(err, s.Scan.Encode(&report), s.Scan.Report.WriteProfile(&retained))
	}
	if s.Base != nil {
		err = errors.Join(err, s.Base.Encode(&base))
	}
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("spike-%s-%s-gc%d", s.At.UTC().Format("20060102T150405Z"), strings.ReplaceAll(s.Source, " ", "-"), s.Collection)
	return wholefile.WriteFolder(dir, name, []wholefile.File{
		{Name: textFile, Data: text.Bytes()},
		{Name: reportFile, Data: report.Bytes()},
		{Name: baseFile, Data: base.Bytes()},
		{Name: retainedFile, Data: retained.Bytes()},
		{Name: heapBaseFile, Data: s.HeapBase},
		{Name: heapFile, Data: s.Heap},
	})
}

// minorPart limits the places that are shown: those with less than this part of the largest growth
// are left out.
const minorPart = 20

// writeHeld writes where more is held than at the scan before: the path, its type and root, and
// where the objects were allocated.
func (g *Growth) writeHeld(b *strings.Builder, limit int) {
	if len(g.Leaks) == 0 {
		b.WriteString("nothing is more than at the snapshot before\n")
		return
	}
	fmt.Fprintf(b, "more than at the snapshot %v before, while no more was alive than usual:\n", g.Elapsed.Round(time.Millisecond))
	for i, l := range g.Leaks {
		if i == limit || l.Bytes < g.Leaks[0].Bytes/minorPart {
			fmt.Fprintf(b, "\n… and %s with less\n", textfmt.CountNoun(int64(len(g.Leaks)-i), "place"))
			return
		}
		fmt.Fprintf(b, "\n%s more via %s  %s\n    %s\n", textfmt.ByteCount(l.Bytes), l.Path, typeText(l.Type), heldBy(l.Root))
		writeAllocated(b, l.Node)
	}
}

// Limits of the stacks that allocated a node's objects.
const (
	maxStacks = 3
	maxFrames = 6
)

// writeAllocated writes where the objects of a node and below were allocated, as far as that was
// recorded.
func writeAllocated(b *strings.Builder, n *refscan.Node) {
	of := make(map[string]int64)
	var sum func(n *refscan.Node)
	sum = func(n *refscan.Node) {
		for _, a := range n.Allocations {
			of[stackText(a.Stack)] += a.Bytes
		}
		for _, c := range n.Children {
			sum(c)
		}
	}
	sum(n)
	writeStacks(b, of, "    allocated at (%s recorded):\n%s")
}

// writeStacks writes the stacks with most bytes, and returns how many. The format is that of their
// bytes and their text.
func writeStacks(b *strings.Builder, of map[string]int64, format string) (shown int) {
	stacks := make([]string, 0, len(of))
	for text := range of {
		stacks = append(stacks, text)
	}
	sort.Slice(stacks, func(i, j int) bool {
		if of[stacks[i]] != of[stacks[j]] {
			return of[stacks[i]] > of[stacks[j]]
		}
		return stacks[i] < stacks[j]
	})
	for _, text := range stacks[:min(maxStacks, len(stacks))] {
		if of[text] <= 0 || 10*of[text] < of[stacks[0]] {
			break
		}
		fmt.Fprintf(b, format, textfmt.ByteCount(of[text]), text)
		shown++
	}
	return shown
}

func stackText(stack []refscan.SourceFrame) string {
	var b strings.Builder
	for i, f := range stack {
		if i == maxFrames {
			fmt.Fprintf(&b, "        … %d more\n", len(stack)-i)
			break
		}
		fmt.Fprintf(&b, "        %s (%s:%d)\n", symbol.Unescape(f.Func), f.File, f.Line)
	}
	return b.String()
}
