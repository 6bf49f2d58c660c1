package ledger

import (
	"bytes"
	"runtime/metrics"
	"strconv"
)

// Anonymous is the name of memory that a program mapped for itself, without a file.
const Anonymous = "anonymous memory"

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
	other := -goes
	hasC := bytes.Contains(text, []byte("[heap]\n")) // Go does not use brk
	loaded := make(map[string]bool)                  // files that some part of is executable
	files := make(map[string]int64)
	var before area
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		m, ok := parseArea(line)
		if !ok {
			continue
		}
		switch {
		case len(m.name) > 0 && m.name[0] == '/':
			if m.mode[2] == 'x' {
				loaded[string(m.name)] = true
			}
			files[string(m.name)] += m.size()
		case len(m.name) > 0 && !bytes.HasPrefix(m.name, []byte("[anon:")):
			// [heap], [stack], [vdso]
		case m.mode[0] != 'r' || m.mode[1] != 'w':
		case before.isGuardOf(&m) || before.isLoaded(loaded, &m) || hasC && inArena(&m):
		default:
			other += m.size()
		}
		before = m
	}
	if !sanitized {
		f(Anonymous, other)
	}
	for name, size := range files {
		if !loaded[name] {
			f(name, size)
		}
	}
	return nil
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

// An area is a line of /proc/self/maps.
type area struct {
	start, end uint64
	mode       []byte // "rw-p"
	name       []byte
}

func (a *area) size() int64 { return int64(a.end - a.start) }

// isGuardOf reports whether the area is what keeps a thread's stack from growing into other memory:
// glibc and musl map both at once and forbid access to the lowest pages.
func (a *area) isGuardOf(stack *area) bool {
	const most = 1 << 20
	return a.end == stack.start && len(a.name) == 0 && len(a.mode) > 0 && string(a.mode) == "---p" && a.size() <= most
}

// isLoaded reports whether an area without a name is the zeroed data behind that of a library.
func (a *area) isLoaded(loaded map[string]bool, bss *area) bool {
	return a.end == bss.start && len(bss.name) == 0 && loaded[string(a.name)]
}

// inArena reports whether an area is the used part of one of glibc's arenas, which begin at
// multiples of 64 MiB and whose rest cannot be accessed yet.
func inArena(a *area) bool {
	const arena = 64 << 20
	return a.start%arena == 0 && a.size() <= arena
}

// parseArea reads a line of /proc/self/maps: "7f00-7f10 rw-p 00000000 00:00 0    name".
func parseArea(line []byte) (a area, ok bool) {
	dash := bytes.IndexByte(line, '-')
	space := bytes.IndexByte(line, ' ')
	if dash < 0 || space < dash || len(line) < space+6 {
		return a, false
	}
	var err1, err2 error
	a.start, err1 = strconv.ParseUint(string(line[:dash]), 16, 64)
	a.end, err2 = strconv.ParseUint(string(line[dash+1:space]), 16, 64)
	a.mode = line[space+1 : space+5]
	rest := line[space+5:]
	for range 3 { // offset, device, inode
		rest = bytes.TrimLeft(rest, " ")
		next := bytes.IndexByte(rest, ' ')
		if next < 0 {
			next = len(rest)
		}
		rest = rest[next:]
	}
	a.name = bytes.TrimLeft(rest, " ")
	return a, err1 == nil && err2 == nil && a.end >= a.start
}
