// Package layouts takes the layouts of the runtime's structures out of debug information, for the
// table of package withoutdwarf and for the test of that table. No user's test links it.
package layouts

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/objfile/elffile"
)

// Architectures are the values of GOARCH for which snapshots are supported.
var Architectures = []string{"amd64", "arm64"}

// fields lists, by type, the fields of the runtime's structures that are read. The table of offsets
// holds just these.
var fields = map[string]string{
	"runtime.moduledata": "text etext minpc maxpc data edata bss ebss noptrbss enoptrbss types etypes rodata gofunc epclntab " +
		"funcnametab cutab filetab pctab pclntable ftab gcdatamask gcbssmask next",
	"runtime.bitvector": "n bytedata",
	"runtime.mspan": "sizeof startAddr npages freeindex nelems allocBits gcmarkBits sweepgen spanclass state elemsize limit specials " +
		"largeType divMul isUserArenaChunk",
	"runtime.mheap": "allspans sweepgen",
	"runtime.g": "stack.lo stack.hi sched.sp sched.pc sched.ctxt sched.lr syscallsp syscallpc atomicstatus asyncSafePoint stktopsp " +
		"_defer _panic gopc startpc xRegs.state waiting",
	"runtime.sudog":               "sizeof elem.vu c.maybeTraceablePtr.vu waitlink",
	"runtime._defer":              "fn link heap sp",
	"runtime.special":             "next offset kind",
	"runtime.specialfinalizer":    "fn ot",
	"runtime.specialCleanup":      "cleanup",
	"runtime.cleanupFn":           "call fn arg",
	"runtime.specialWeakHandle":   "handle",
	"runtime.hchan":               "qcount dataqsiz buf elemtype",
	"internal/runtime/maps.Map":   "used dirPtr dirLen",
	"internal/runtime/maps.table": "index groups.data groups.lengthMask",
}

// Of builds a program with a toolchain ("local" or a version) and flags in a scratch folder, and
// returns its minor Go version and the table of layouts.
func Of(dir, toolchain, goarch string, flags ...string) (minor int, table string, err error) {
	// A finalizer, a map, a channel and a cleanup bring all the types into the debug information.
	const program = `package main

import "runtime"

func main() {
	c := make(chan map[string]*int, 1)
	x := new(int)
	runtime.SetFinalizer(x, func(*int) {})
	runtime.AddCleanup(new(int), func(c chan map[string]*int) {}, c)
	c <- map[string]*int{"x": x}
	defer func() { recover() }()
	go func() { println(len(<-c)) }()
	select {}
}
`
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(program), 0o666); err != nil {
		return 0, "", err
	}
	cmd := exec.Command("go", append(append([]string{"build", "-o", binary}, flags...), source)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain, "GOOS=linux", "GOARCH="+goarch, "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, "", fmt.Errorf("building with %s for %s: %w\n%s", toolchain, goarch, err, out)
	}
	file, err := elffile.Open(binary)
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	x, err := debuginfo.Build(file)
	if err != nil {
		return 0, "", err
	}
	m := regexp.MustCompile(`^go1\.(\d+)`).FindStringSubmatch(x.GoVersion())
	if m == nil {
		return 0, "", fmt.Errorf("%s built a program of %s", toolchain, x.GoVersion())
	}
	minor, err = strconv.Atoi(m[1])
	if err != nil {
		return 0, "", err
	}
	table, err = tableOf(x)
	return minor, table, err
}

func tableOf(x *debuginfo.Index) (string, error) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		id, ok := x.TypeByName(name)
		if !ok {
			return "", fmt.Errorf("the debug information has no type %s", name)
		}
		b.WriteString(name)
		for _, path := range strings.Fields(fields[name]) {
			off, err := offset(x, x.Type(id), path)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, " %s %d", path, off)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// offset resolves a dotted path of fields; "sizeof" is the size of the type.
func offset(x *debuginfo.Index, t debuginfo.Type, path string) (int64, error) {
	if path == "sizeof" {
		return t.Size, nil
	}
	off := int64(0)
	for part := range strings.SplitSeq(path, ".") {
		i := slices.IndexFunc(t.Fields, func(f debuginfo.Field) bool { return f.Name == part })
		if i < 0 {
			return 0, fmt.Errorf("type %s has no field %s (of %s)", t.Name, part, path)
		}
		off += t.Fields[i].Offset
		t = x.Type(t.Fields[i].Type)
	}
	return off, nil
}

// Split separates the lines that all tables have from the lines that are not in all of them.
func Split(tables map[int]string) (common string, own map[int]string) {
	own = make(map[int]string)
	count := make(map[string]int)
	for _, table := range tables {
		for line := range strings.Lines(table) {
			count[line]++
		}
	}
	for _, minor := range Sorted(tables) {
		for line := range strings.Lines(tables[minor]) {
			switch {
			case count[line] < len(tables):
				own[minor] += line
			case !strings.Contains(common, line):
				common += line
			}
		}
	}
	return common, own
}

// Sorted returns the keys in order.
func Sorted(tables map[int]string) []int { return slices.Sorted(maps.Keys(tables)) }
