package ledger

import (
	"bytes"
	"runtime/metrics"
	"sync"
	"syscall"

	"github.com/leakgate/leakgate/internal/engine/memory/offheap"
	"github.com/leakgate/leakgate/internal/procfs"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
)

// eachMapping calls f for each file that is mapped for data, with its bytes, and once, with the
// name Anonymous, for writable memory without a file that is not Go's. It leaves out executable
// files, with all parts that loaders map of them, thread stacks and, in programs with cgo, malloc's
// memory.
//
// It subtracts what the Go runtime has mapped from the memory without a file, and what the engine
// keeps between snapshots. The runtime counts its memory itself, as soon as it is writable (go1.26
// runtime/mem.go). The difference is constant as long as no other code maps memory.
func eachMapping(f func(name string, size int64)) error {
	goes := mappedByGo()
	text, err := procfs.Read("/proc/self/maps", make([]byte, 16<<10))
	for try := 0; err == nil && try < 5; try++ { // the runtime may have mapped more in between
		before := goes
		if goes = mappedByGo(); goes == before {
			break
		}
		text, err = procfs.Read("/proc/self/maps", text)
	}
	if err != nil {
		return err
	}
	return self.eachMappingIn(text, goes, f)
}

// eachMappingIn is eachMapping for the text of a file maps, of which so many bytes are the
// runtime's.
func (p *process) eachMappingIn(text []byte, goes int64, f func(name string, size int64)) error {
	other, stack := -goes, threadStack()
	hasC := bytes.Contains(text, []byte("[heap]\n")) // Go does not use brk
	loaded := make(map[string]bool)                  // files that some part of is executable
	files := make(map[string]int64)
	arenas := native.ArenasOf(p.dir)
	defer arenas.Close()
	var before procfs.Area
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		m, ok := procfs.Parse(line)
		if !ok {
			continue
		}
		if loaded[string(before.Name)] {
			other += p.behindLoaded.beyond(&before, &m)
		}
		switch {
		case len(m.Name) > 0 && m.Name[0] == '/':
			if m.Mode[2] == 'x' {
				loaded[string(m.Name)] = true
			}
			files[string(m.Name)] += m.Size()
		case len(m.Name) > 0 && !bytes.HasPrefix(m.Name, []byte("[anon:")):
			// [heap], [stack], [vdso]
		case m.Mode[0] != 'r' || m.Mode[1] != 'w':
		case isGuardOf(&before, &m):
			// Memory that was mapped right above a thread's stack is one area with it.
			other += max(0, m.Size()-stack)
		case loaded[string(before.Name)] && isBehind(&before, &m):
			// The zeroed data of a library.
		default:
			other += m.Size()
			if hasC {
				other -= arenas.Within(&m)
			}
		}
		before = m
	}
	if arenas.Err != nil {
		return arenas.Err
	}
	f(Anonymous, other)
	for name, size := range files {
		if !loaded[name] {
			f(name, size)
		}
	}
	return nil
}

// isJudged reports whether a mapping of that name is the program's for certain: anonymous memory is
// not if there is a sanitizer.
func isJudged(name string) bool { return !Sanitized || name != Anonymous }

// AnonymousBytes returns how many bytes of writable memory without a file are not Go's. With a
// sanitizer, some of them are the sanitizer's.
func AnonymousBytes() (bytes int64, err error) {
	err = eachMapping(func(name string, size int64) {
		if name == Anonymous {
			bytes = size
		}
	})
	return bytes, err
}

// mappedByGo returns how many bytes of writable memory the runtime has mapped, and the engine
// keeps.
func mappedByGo() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64()) + offheap.Kept.Load()
}

// threadStack returns how large a thread's stack may be: the limit of the process, which glibc uses
// (nptl/pthread_create.c), or 2 MiB if there is none. musl takes less.
func threadStack() int64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_STACK, &limit); err != nil || limit.Cur > 1<<40 {
		return 2 << 20
	}
	return int64(limit.Cur)
}

// isGuardOf reports whether area a is the guard that keeps a thread's stack from growing into other
// memory. glibc and musl map stack and guard at once and forbid access to the lowest pages, one or
// two as a rule. The Go runtime forbids access to larger areas, and uses some memory in between
// (go1.26 runtime/mpagealloc.go, sysInit).
func isGuardOf(a, stack *procfs.Area) bool {
	const most = 64 << 10
	return a.End == stack.Start && len(a.Name) == 0 && len(a.Mode) > 0 && string(a.Mode) == "---p" && a.Size() <= most
}

// isBehind reports whether an area without a name begins where another ends.
func isBehind(before, m *procfs.Area) bool { return before.End == m.Start && len(m.Name) == 0 }

// loadedSizes is how much memory lay behind each part of each loaded file when it was first seen.
// It tells the zeroed data of a library, which lies behind its other data and has no name,
// from memory that was mapped right behind it later: the system makes one area of both.
type loadedSizes struct {
	mu    sync.Mutex
	first map[loadedEnd]int64
}

// A loadedEnd is where a part of a loaded file ends in memory.
type loadedEnd struct {
	file string
	end  uint64
}

// beyond returns how many bytes the area behind a part of a loaded file has grown since the part
// was first seen.
func (l *loadedSizes) beyond(part, behind *procfs.Area) int64 {
	now := int64(0)
	if isBehind(part, behind) {
		if behind.Mode[0] != 'r' || behind.Mode[1] != 'w' {
			return 0
		}
		now = behind.Size()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		l.first = make(map[loadedEnd]int64)
	}
	first, seen := l.first[loadedEnd{string(part.Name), part.End}]
	if !seen {
		l.first[loadedEnd{string(part.Name), part.End}] = now
		return 0
	}
	return now - first
}
