// Package callnames names the calls of C code that a test recorded, and makes profiles of them. It is a process that
// the test starts, since names are in files that are gone when the test has ended: the test binary, generated code in
// its memory.
package callnames

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/heapfile"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/memorymap"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/perfmap"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/symbolize"
	"github.com/leakgate/leakgate/internal/nativestack"
)

// Asked reports whether a test has started this process, with args after its name.
func Asked(args []string) bool { return len(args) == 1 && args[0] == nativestack.Flag }

// debugDirs have separate debug files.
var debugDirs = []string{"/usr/lib/debug"}

// Main is the whole process. It returns the exit code.
func Main() int {
	memory := os.NewFile(nativestack.MemoryFD, "memory")
	if err := answer(os.Stdin, os.Stdout, memory); err != nil {
		fmt.Fprintf(os.Stderr, "leakgate: %v\n", err)
		return 2
	}
	return 0
}

// answer reads a record, and writes what is known of it. memory is that of the process that was recorded; without it
// code that was generated has no names.
func answer(in io.Reader, out io.Writer, memory io.ReaderAt) error {
	var r nativestack.Record
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("the record of calls: %w", err)
	}
	maps, err := memorymap.Parse([]byte(r.Maps))
	if err != nil {
		return fmt.Errorf("the memory map: %w", err)
	}
	p := profileOf(&r)
	s := &symbolize.Sources{Maps: maps, DebugDirs: debugDirs}
	symbolize.ReadMemory(func(addr, n uint64) ([]byte, error) { return readAt(memory, addr, n) }, binary.NativeEndian, s)
	if text, err := os.ReadFile(fmt.Sprintf("/tmp/perf-%d.map", r.PID)); err == nil {
		s.PerfMap, _, _ = perfmap.Parse(text)
	}
	if _, err := symbolize.Apply(&heapfile.File{Profile: p.Profile, Maps: maps}, s); err != nil {
		return err
	}
	a := &nativestack.Answer{Lines: textOf(p.calls(&r))}
	for _, moment := range []struct {
		of func(*nativestack.Stack) nativestack.Amount
		to *[]byte
	}{
		{func(s *nativestack.Stack) nativestack.Amount { return s.Base }, &a.Base},
		{func(s *nativestack.Stack) nativestack.Amount { return s.Last }, &a.Last},
	} {
		if *moment.to, err = p.at(&r, moment.of); err != nil {
			return err
		}
	}
	_, err = a.WriteTo(out)
	return err
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

// names is a profile with a sample for each stack of a record, in their order.
type names struct {
	*profile.Profile
	returns map[uint64]*profile.Location // by return address
}

func profileOf(r *nativestack.Record) *names {
	p := &names{&profile.Profile{
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

// frames are the functions that addresses return to.
func (p *names) frames(pcs []uint64) (all []frame) {
	for _, pc := range pcs {
		for _, line := range p.returns[pc].Line {
			all = append(all, frame{line.Function.Name, line.Function.Filename, int(line.Line)})
		}
	}
	return all
}

// at is the profile with what there was at one moment, gzipped.
func (p *names) at(r *nativestack.Record, of func(*nativestack.Stack) nativestack.Amount) ([]byte, error) {
	q := p.Copy()
	samples := q.Sample
	q.Sample = nil
	for i, s := range samples {
		if amount := of(&r.Stacks[i]); amount.Blocks != 0 {
			s.Value = []int64{amount.Blocks, amount.Bytes}
			q.Sample = append(q.Sample, s)
		}
	}
	var b bytes.Buffer
	err := q.Compact().Write(&b)
	return b.Bytes(), err
}
