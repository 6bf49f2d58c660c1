package nativeholders

import (
	"os"
	"path"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// A stretch is memory that may hold references, outside of malloc's heap and of Go's.
type stretch struct {
	image.Range
	file   string // whose variables are there; "": of no file
	thread bool   // the stack or the struct pthread of a thread is there
}

// writableStretches lists the memory that the program may write to, without the heaps of malloc and
// of Go, the records of a race detector, and the unused parts of the stacks of threads.
func (f *finder) writableStretches() ([]stretch, error) {
	without := []image.Range{{Addr: shadowStart, Len: shadowEnd - shadowStart}}
	without = append(without, f.native.Parts...)
	for _, b := range f.native.Blocks {
		if b.Mapped() {
			without = append(without, image.Range{Addr: b.Addr, Len: uint64(b.Size)})
		}
	}
	without = append(without, f.goArenas()...)
	idle, threads, err := f.threads()
	if err != nil {
		return nil, err
	}
	// a sentinel for between, behind all other ranges
	without = append(image.Union(append(without, idle...)), image.Range{Addr: ^uint64(0)})
	pages := openPages(f.pid)
	defer pages.close()
	var all []stretch
	for i := range f.native.Areas {
		a := &f.native.Areas[i]
		if !a.Writable && !isSharedMemory(a.Name) {
			continue
		}
		for _, s := range f.parts(i, threads) {
			for _, r := range between(s.Range, without) {
				if a.Name != "" {
					s.Range = r
					all = append(all, s)
					continue
				}
				for _, used := range pages.used(r) {
					s.Range = used
					all = append(all, s)
				}
			}
		}
	}
	return all, nil
}

// between returns the parts of a range that lie outside of others. These are sorted and do not
// overlap, and the last of them begins behind the range.
func between(r image.Range, others []image.Range) (parts []image.Range) {
	at := r.Addr
	for _, w := range others {
		if end := min(w.Addr, r.End()); end > at {
			parts = append(parts, image.Range{Addr: at, Len: end - at})
		}
		if at = max(at, w.End()); at >= r.End() {
			break
		}
	}
	return parts
}

// parts returns the stretches of an area: one, unless other memory, such as the stack of a thread,
// lies directly behind the variables of a file, so that the system shows both as one area. threads
// are addresses in the memory of threads.
func (f *finder) parts(i int, threads []uint64) []stretch {
	a := &f.native.Areas[i]
	whole := stretch{Range: image.Range{Addr: a.Start, Len: a.End - a.Start}, file: f.fileOf(i)}
	parts := []stretch{whole}
	if end := f.endOf(whole.file); a.Name == "" && end != 0 && end < a.End {
		end = max(end, a.Start)
		parts[0].Len = end - a.Start
		parts = append(parts, stretch{Range: image.Range{Addr: end, Len: a.End - end}})
	}
	for k := range parts {
		s := &parts[k]
		if isLoader(s.file) { // the loader has the lists of threads' variables
			s.file, s.thread = "", true
		}
		for _, at := range threads {
			s.thread = s.thread || s.Addr <= at && at < s.End()
		}
	}
	return parts
}

// endOf returns where the variables of a file end, up to the end of the page; 0 if that is not
// known.
func (f *finder) endOf(file string) uint64 {
	if file == "" {
		return 0
	}
	page := uint64(os.Getpagesize())
	return (f.library(file).end + page - 1) &^ (page - 1)
}

// isLoader reports whether a file is the dynamic linker of glibc.
func isLoader(file string) bool { return strings.HasPrefix(path.Base(file), "ld-linux") }

// isSharedMemory reports whether a mapping is memory that has no file on a disk, other than the
// snapshot's own.
func isSharedMemory(name string) bool {
	for _, prefix := range [...]string{"/dev/zero", "/dev/shm/", "/SYSV", "/memfd:"} {
		if strings.HasPrefix(name, prefix) {
			return !strings.HasPrefix(name, "/memfd:leakgate")
		}
	}
	return false
}

// goArenas returns the arenas of Go's heap that contain spans or stacks.
func (f *finder) goArenas() (all []image.Range) {
	last := ^uint64(0)
	add := func(addr uint64) {
		if addr &^= rtlayout.ArenaSize - 1; addr != last {
			last = addr
			all = append(all, image.Range{Addr: addr, Len: rtlayout.ArenaSize})
		}
	}
	for i := range f.heap.Model.Spans {
		s := &f.heap.Model.Spans[i]
		for at := s.Base &^ (rtlayout.ArenaSize - 1); at < s.Base+s.Size; at += rtlayout.ArenaSize {
			add(at)
		}
	}
	for _, g := range f.heap.Model.Goroutines {
		add(g.Lo)
	}
	return all
}

// fileOf returns the file whose variables are in an area, "" if there is none. The unnamed area
// behind an area of a file has those variables that are zero at first.
func (f *finder) fileOf(i int) string {
	a := &f.native.Areas[i]
	if a.Name == "" && i > 0 && f.native.Areas[i-1].End == a.Start {
		a = &f.native.Areas[i-1]
	}
	if !strings.HasPrefix(a.Name, "/") || isSharedMemory(a.Name) {
		return ""
	}
	return a.Name
}

// structSize is about the size of glibc's struct pthread, which is less than a page.
const structSize = 0x900

// threads returns the unused parts of the stacks of threads, and addresses in the areas of all
// threads. If a thread of Go does not run C code, the part below its stack pointer is unused: C
// code has left words there. If a thread has ended, its whole stack is unused. On
// architectures where thread-local variables are above the struct pthread, nothing tells where they
// end, and the stacks of ended threads count as in use.
func (f *finder) threads() (idle []image.Range, places []uint64, err error) {
	stacks, err := f.heap.Model.SystemStacks()
	if err != nil {
		return nil, nil, err
	}
	var ends []uint64
	alive, inGo := 0, 0
	for _, t := range f.native.Threads {
		places = append(places, t.Addr)
		ends = append(ends, (t.Addr+structSize+1<<12-1)&^(1<<12-1))
		if !t.Ended {
			alive++
		}
	}
	sort.Slice(ends, func(i, j int) bool { return ends[i] < ends[j] })
	// begin returns the start of the stack that contains an address, 0 if there is none
	begin := func(addr uint64) (from uint64) {
		if a := f.areaOf(addr); a != nil && a.Writable {
			from = a.Start
			for _, end := range ends {
				if end <= addr && end > from {
					from = end
				}
			}
		}
		return from
	}
	for _, s := range stacks {
		from := begin(s.SP)
		if from == 0 {
			continue
		}
		places = append(places, s.SP)
		if !s.InC {
			inGo++
			idle = append(idle, image.Range{Addr: from, Len: s.SP - from})
		}
	}
	for _, t := range f.native.Threads {
		if from := begin(t.Addr); t.Ended && from != 0 && threadLocalBelow {
			idle = append(idle, image.Range{Addr: from, Len: t.Addr + structSize - from})
		}
	}
	f.inC = alive > inGo
	return idle, places, nil
}

func (f *finder) areaOf(addr uint64) *nativeheap.Area {
	all := f.native.Areas
	i := sort.Search(len(all), func(i int) bool { return all[i].Start > addr }) - 1
	if i < 0 || addr >= all[i].End {
		return nil
	}
	return &all[i]
}

// in calls words with the memory of the stretches for which is returns true.
func (f *finder) in(all []stretch, is func(*stretch) bool, who func(s *stretch, at uint64, atStart bool) int32) error {
	var ranges []image.Range
	var which []*stretch
	for i := range all {
		if s := &all[i]; is(s) {
			ranges, which = append(ranges, s.Range), append(which, s)
		}
	}
	return f.read(ranges, func(i int, mem []byte) {
		f.words(mem, ranges[i].Addr, func(at uint64, atStart bool) int32 { return who(which[i], at, atStart) })
	})
}

// data scans variables: those of Go, or those of C.
func (f *finder) data(all []stretch, kind Kind) error {
	return f.in(all, func(s *stretch) bool { return s.file != "" }, func(s *stretch, at uint64, atStart bool) int32 {
		return f.variable(s.file, at, atStart, kind)
	})
}

// other scans the memory of threads, or the remaining memory.
func (f *finder) other(all []stretch, kind Kind) error {
	if kind == Thread {
		for _, b := range f.native.Own {
			f.words(f.native.Bytes(b), b.Addr, func(uint64, bool) int32 { return f.place(Place{Kind: Thread}) })
		}
	}
	return f.in(all, func(s *stretch) bool { return s.file == "" && s.thread == (kind == Thread) }, func(*stretch, uint64, bool) int32 {
		return f.place(Place{Kind: kind})
	})
}
