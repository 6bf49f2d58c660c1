package ledger

import (
	"bytes"
	"runtime/metrics"
	"sync"
	"syscall"

	"github.com/leakgate/leakgate/internal/procmaps"
)

// eachMapping calls f for each file that is mapped for data, with its bytes, and once for memory of
// no file that can be written to and is not Go's. Executable files are left out, with all that
// loaders map of them; so are thread stacks and, in programs with cgo, what malloc has.
//
// Of memory without a file what the Go runtime has mapped is subtracted: it counts that itself, as
// soon as it can be written to (go1.26 runtime/mem.go). The difference is a constant as long as
// nobody else maps anything.
func eachMapping(f func(name string, size int64)) error {
	goes := mappedByGo()
	text, err := readFile("/proc/self/maps", make([]byte, 16<<10))
	for try := 0; err == nil && try < 5; try++ { // the runtime may have mapped more in between
		before := goes
		if goes = mappedByGo(); goes == before {
			break
		}
		text, err = readFile("/proc/self/maps", text)
	}
	if err != nil {
		return err
	}
	other, stack := -goes, threadStack()
	hasC := bytes.Contains(text, []byte("[heap]\n")) // Go does not use brk
	loaded := make(map[string]bool)                  // files that some part of is executable
	files := make(map[string]int64)
	arenas := arenaReader{memory: -1}
	defer arenas.close()
	var before procmaps.Area
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		m, ok := procmaps.Parse(line)
		if !ok {
			continue
		}
		if loaded[string(before.Name)] {
			other += behindLoaded.beyond(&before, &m)
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
			// What was mapped right above a thread's stack is one area with it.
			other += max(0, m.Size()-stack)
		case loaded[string(before.Name)] && isBehind(&before, &m):
			// The zeroed data of a library.
		default:
			other += m.Size()
			if hasC {
				other -= arenas.within(&m)
			}
		}
		before = m
	}
	if arenas.err != nil {
		return arenas.err
	}
	f(Anonymous, other)
	for name, size := range files {
		if !loaded[name] {
			f(name, size)
		}
	}
	return nil
}

// isJudged reports whether what eachMapping says is the program's for certain.
func isJudged(name string) bool { return !Sanitized || name != Anonymous }

// AnonymousBytes is how much memory of no file there is that can be written to and is not Go's.
// With a sanitizer some of it is that one's.
func AnonymousBytes() (bytes int64, err error) {
	err = eachMapping(func(name string, size int64) {
		if name == Anonymous {
			bytes = size
		}
	})
	return bytes, err
}

// mappedByGo returns how many bytes the runtime has mapped that can be written to.
func mappedByGo() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}

// threadStack is how large a thread's stack may be: the limit of the process, which glibc goes by
// (nptl/pthread_create.c), or 2 MiB where there is none. musl takes less.
func threadStack() int64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_STACK, &limit); err != nil || limit.Cur > 1<<40 {
		return 2 << 20
	}
	return int64(limit.Cur)
}

// isGuardOf reports whether the area is what keeps a thread's stack from growing into other memory:
// glibc and musl map both at once and forbid access to the lowest pages, one or two as a rule. The
// Go runtime forbids access to more than that at a time, and uses some memory in between (go1.26
// runtime/mpagealloc.go, sysInit).
func isGuardOf(a, stack *procmaps.Area) bool {
	const most = 64 << 10
	return a.End == stack.Start && len(a.Name) == 0 && len(a.Mode) > 0 && string(a.Mode) == "---p" && a.Size() <= most
}

// isBehind reports whether an area without a name begins where another ends.
func isBehind(before, m *procmaps.Area) bool { return before.End == m.Start && len(m.Name) == 0 }

// behindLoaded is how much memory lay behind each part of each loaded file when it was first seen.
var behindLoaded = loadedSizes{first: make(map[loadedEnd]int64)}

// loadedSizes tells the zeroed data of a library, which lies behind its other data and has no name,
// from what was mapped right behind that later: the system makes one area of both.
type loadedSizes struct {
	mu    sync.Mutex
	first map[loadedEnd]int64
}

// A loadedEnd is where a part of a loaded file ends in memory.
type loadedEnd struct {
	file string
	end  uint64
}

// beyond returns by how much the area behind a part of a loaded file is larger than it was when that
// part was first seen.
func (l *loadedSizes) beyond(part, behind *procmaps.Area) int64 {
	now := int64(0)
	if isBehind(part, behind) {
		if behind.Mode[0] != 'r' || behind.Mode[1] != 'w' {
			return 0
		}
		now = behind.Size()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	first, seen := l.first[loadedEnd{string(part.Name), part.End}]
	if !seen {
		l.first[loadedEnd{string(part.Name), part.End}] = now
		return 0
	}
	return now - first
}
