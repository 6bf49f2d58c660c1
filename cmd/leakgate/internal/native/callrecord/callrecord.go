// Package callrecord records the calls of malloc that are behind the memory of C code in a test,
// names them, and makes profiles of them. A library records them. It is compiled with the user's
// compiler and preloaded into test binaries. Package nativecalls reads what it recorded. The test
// starts that as a process of its own while the test runs: the test binary and the generated code
// in its memory, which have the names, are gone afterwards.
package callrecord

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/dump"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/symbolize"
	"github.com/leakgate/leakgate/internal/engine/native/nativecalls"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// Asked reports whether go test or a test started this process; args are the arguments after its
// name.
func Asked(args []string) bool { return startsBinary(args) || records(args) }

// Main does what this process was started for, and returns its exit code.
func Main(args []string) int {
	if startsBinary(args) {
		return startBinary(args)
	}
	return recordCalls(args)
}

// records reports whether a test started this process, to record its calls.
func records(args []string) bool { return len(args) == 4 && args[0] == verdict.NativeFlag }

// debugDirs are the folders with separate debug files.
var debugDirs = []string{"/usr/lib/debug"}

// recordCalls runs the recording process and returns its exit code.
func recordCalls(args []string) int {
	pid, err1 := strconv.Atoi(args[1])
	calls, err2 := strconv.Atoi(args[2])
	due, err3 := strconv.Atoi(args[3])
	if err1 != nil || err2 != nil || err3 != nil {
		fmt.Fprintln(os.Stderr, "it is called by tests only")
		return 2
	}
	s := &session{pid: pid, calls: int64(calls), due: due, memory: os.NewFile(verdict.NativeMemoryFD, "memory"), moments: os.Stdin, ready: os.NewFile(verdict.NativeReadyFD, "ready")}
	if err := s.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}

// A session is one recording.
type session struct {
	pid     int
	calls   int64 // of op, between the two moments
	due     int   // blocks that a hundred calls of op leave, 0 if unknown
	memory  nativecalls.Memory
	moments io.Reader // the test sends a byte at each of the two moments
	ready   io.Writer // gets a byte when the session is ready for the next moment
}

// run records calls up to the second moment and writes the answer to out. It returns nil if the
// test closes its pipes before that.
func (s *session) run(out io.Writer) error {
	maps, err := s.maps()
	if err != nil {
		return err
	}
	recorder, err := nativecalls.Find(maps, s.memory)
	if err != nil {
		return err
	}
	index, bias, noIndex := program(s.pid, maps)
	var withoutGo error
	if noIndex == nil {
		withoutGo, err = recorder.Start(index, bias)
	} else {
		withoutGo = noIndex
		_, err = recorder.Start(nil, 0)
	}
	defer recorder.Stop()
	if err != nil {
		return err
	}
	var taken [2][]nativecalls.Stack
	for i := range taken {
		var one [1]byte
		if _, err := s.ready.Write(one[:]); err != nil {
			return nil
		}
		if _, err := io.ReadFull(s.moments, one[:]); err != nil {
			return nil
		}
		taken[i] = recorder.Stacks()
	}
	recorder.Stop()
	lost := recorder.Lost()
	switch {
	case recorder.Err() != nil:
		return recorder.Err()
	case lost > 0:
		return fmt.Errorf("there was no room for %s calls: let op do less, or set Iterations", textfmt.Count(lost))
	}
	if maps, err = s.maps(); err != nil { // libraries may have been loaded
		return err
	}
	r := &record{PID: s.pid, Maps: string(maps), Stacks: joinMoments(taken[0], taken[1]), Calls: s.calls, Due: s.due, TimeNanos: time.Now().UnixNano()}
	a, err := answer(r, s.memory)
	if err != nil {
		return err
	}
	if withoutGo != nil {
		a.Lines = append(a.Lines, verdict.NativeLine{Text: "the Go code that called C is not known: " + withoutGo.Error()})
	}
	_, err = a.WriteTo(out)
	return err
}

func (s *session) maps() ([]byte, error) { return os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.pid)) }

// program opens the debug information of a process's executable. It also returns the bias between
// addresses in the process and addresses in that file.
func program(pid int, maps []byte) (*debuginfo.Index, uint64, error) {
	file, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil, 0, err
	}
	all, err := dump.ParseMaps(maps)
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(all, func(m *dump.Mapping) bool { return m.File == file })
	x, err := objfile.Open(file, objfile.ReadELF)
	if err != nil {
		return nil, 0, err
	}
	defer x.Close()
	if i < 0 || len(x.Segments) == 0 {
		return nil, 0, fmt.Errorf("%s is not among the mappings", file)
	}
	index, err := debuginfo.Open(context.Background(), debuginfo.Options{File: x, NoTwin: true})
	return index, nativecalls.Bias(x, all[i].Start), err
}

// answer names the calls of a record, and makes profiles of them. memory is the process's memory;
// where it cannot be read, generated code has no names.
func answer(r *record, memory io.ReaderAt) (*verdict.NativeAnswer, error) {
	maps, err := dump.ParseMaps([]byte(r.Maps))
	if err != nil {
		return nil, fmt.Errorf("the memory map: %w", err)
	}
	p := profileOf(r)
	s := &symbolize.Sources{Maps: maps, DebugDirs: debugDirs}
	symbolize.ReadMemory(func(addr, n uint64) ([]byte, error) { return readAt(memory, addr, n) }, binary.NativeEndian, s)
	if text, err := wholefile.Read(fmt.Sprintf("/tmp/perf-%d.map", r.PID), wholefile.Most); err == nil {
		s.PerfMap, _, _ = symbolize.ParsePerfMap(text)
	}
	if _, err := symbolize.Apply(&dump.HeapProfile{Profile: p.Profile, Maps: maps}, s); err != nil {
		return nil, err
	}
	a := &verdict.NativeAnswer{Lines: textOf(p.calls(r), r.Due)}
	if a.Base, err = p.encodeMoment(r, func(s *stack) amount { return s.Base }); err != nil {
		return nil, err
	}
	a.Last, err = p.encodeMoment(r, func(s *stack) amount { return s.Last })
	return a, err
}

func readAt(memory io.ReaderAt, addr, n uint64) ([]byte, error) {
	const most = 64 << 20
	if n > most || addr > 1<<62 {
		return nil, fmt.Errorf("%d bytes at %#x are not the description of generated code", n, addr)
	}
	b := make([]byte, n)
	_, err := memory.ReadAt(b, int64(addr))
	return b, err
}

// stackProfile is a profile with one sample for each stack of a record, in the order of the stacks.
type stackProfile struct {
	*profile.Profile
	returns map[uint64]*profile.Location // by return address
}

func profileOf(r *record) *stackProfile {
	p := &stackProfile{&profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
		DefaultSampleType: "inuse_space", TimeNanos: r.TimeNanos,
	}, make(map[uint64]*profile.Location)}
	location := func(addr uint64) *profile.Location {
		l := &profile.Location{ID: uint64(len(p.Location) + 1), Address: addr}
		p.Location = append(p.Location, l)
		return l
	}
	allocators := make(map[string]*profile.Location)
	for i := range r.Stacks {
		s := &r.Stacks[i]
		if allocators[s.Function] == nil {
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: s.Function, SystemName: s.Function}
			p.Function = append(p.Function, f)
			allocators[s.Function] = location(0)
			allocators[s.Function].Line = []profile.Line{{Function: f}}
		}
		sample := &profile.Sample{Location: []*profile.Location{allocators[s.Function]}, Value: make([]int64, len(p.SampleType))}
		for _, pc := range slices.Concat(s.C, s.Go) {
			if p.returns[pc] == nil {
				p.returns[pc] = location(pc - 1)
			}
			sample.Location = append(sample.Location, p.returns[pc])
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

// frames returns the functions that the return addresses pcs lie in, inlined functions included.
func (p *stackProfile) frames(pcs []uint64) (all []frame) {
	for _, pc := range pcs {
		for _, line := range p.returns[pc].Line {
			all = append(all, frame{line.Function.Name, line.Function.Filename, int(line.Line)})
		}
	}
	return all
}

// encodeMoment returns a gzipped profile of the blocks and bytes at one moment, which of selects.
func (p *stackProfile) encodeMoment(r *record, of func(*stack) amount) (string, error) {
	q := p.Copy()
	samples := q.Sample
	q.Sample = nil
	for i, s := range samples {
		if amount := of(&r.Stacks[i]); amount.Blocks != 0 {
			s.Value = []int64{amount.Blocks, amount.Bytes}
			q.Sample = append(q.Sample, s)
		}
	}
	var b strings.Builder
	err := q.Compact().Write(&b)
	return b.String(), err
}
