package allocrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writeOverlay writes an overlay of the runtime and of runtime/pprof, for go build -overlay, and
// returns its name. A program built with it, whose memory profiler records every allocation, writes
// another file with its heap profile, named by the variable ORACLE. The file has a line for each
// stack and type: objects, bytes of one, bytes requested, address of the type's descriptor or 0,
// function and line.
func writeOverlay(t *testing.T, goroot string) string {
	t.Helper()
	dir := t.TempDir()
	replace := make(map[string]string)
	put := func(name, text string) {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		replace[filepath.Join(goroot, "src", name)] = path
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(goroot, "src", name))
		require.NoError(t, err)
		return string(data)
	}
	for _, name := range []string{"runtime/malloc.go", "runtime/malloc_generated.go"} {
		text := read(name)
		text = substituted(t, text, `profilealloc\(mp, x, (span\.elemsize|size|elemsize)\)`, `profileTyped(mp, x, $1, typ, requested)`)
		text = substituted(t, text, `c\.tinyAllocs\+\+`, "if MemProfileRate == 1 {\nmProf_MallocTiny(mp, typ, requested)\n}\nc.tinyAllocs++")
		text = substituted(t, text, `(?m)^(func mallocgc\w*\(size uintptr, typ \*_type.*\{)$`, "$1\nrequested := size\n_ = requested")
		if name == "runtime/malloc.go" {
			text += `
func profileTyped(mp *m, x unsafe.Pointer, size uintptr, typ *_type, requested uintptr) {
	c := getMCache(mp)
	if c == nil {
		throw("profilealloc called without a P or outside bootstrapping")
	}
	c.memProfRate = MemProfileRate
	c.nextSample = nextSample()
	mProf_MallocTyped(mp, x, size, typ, requested)
}
`
		}
		put(name, text)
	}
	put("runtime/mprof.go", recordingTypes(t, read("runtime/mprof.go")))
	put("runtime/pprof/protomem.go", writingTypes(t, read("runtime/pprof/protomem.go")))
	data, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	path := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(path, data, 0o666))
	return path
}

// substituted replaces what a pattern matches. It fails if nothing does.
func substituted(t *testing.T, text, pattern, with string) string {
	t.Helper()
	p := regexp.MustCompile(pattern)
	require.Regexp(t, p, text)
	return p.ReplaceAllString(text, with)
}

// recordingTypes adds two versions of the function mProf_Malloc, whose stacks begin with the type
// and the requested size: one for objects, one for small objects that share a block.
func recordingTypes(t *testing.T, text string) string {
	t.Helper()
	original := regexp.MustCompile(`(?s)func mProf_Malloc\(.*?\n}\n`).FindString(text)
	require.NotEmpty(t, original)
	typed := substituted(t, original, `mProf_Malloc\(mp \*m, p unsafe\.Pointer, size uintptr\)`,
		"mProf_MallocTyped(mp *m, p unsafe.Pointer, size uintptr, typ *_type, requested uintptr)")
	typed = substituted(t, typed, `nstk := callers\(3, mp\.profStack\[:debug\.profstackdepth\+2\]\)`,
		"nstk := callers(3, mp.profStack[2:debug.profstackdepth+2])+2\nmp.profStack[0] = uintptr(unsafe.Pointer(typ))\nmp.profStack[1] = requested")
	tiny := substituted(t, typed, `mProf_MallocTyped\(mp \*m, p unsafe\.Pointer, size uintptr, typ`, "mProf_MallocTiny(mp *m, typ")
	tiny = substituted(t, tiny, `callers\(3,`, "callers(2,")
	tiny = substituted(t, tiny, `= requested\n`, "= requested\nsize := uintptr(0)\n")
	tiny = substituted(t, tiny, `(?s)\n\t// Setprofilebucket locks.*\n}\n`, "\n}\n")
	return text + typed + tiny
}

// writingTypes makes the writer of heap profiles write the oracle's file, too.
func writingTypes(t *testing.T, text string) string {
	t.Helper()
	size := "r.AllocBytes/r.AllocObjects"
	if strings.Contains(text, "r.ObjectSize") {
		size = "r.ObjectSize"
	}
	text = substituted(t, text, `(?m)^func writeHeapProto\(.*\{$`, `$0
	if name := os.Getenv("ORACLE"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			panic(err)
		}
		for _, r := range p {
			if r.AllocObjects == 0 {
				continue
			}
			at := ""
			for frames := runtime.CallersFrames(r.Stack[2:]); ; {
				frame, more := frames.Next()
				if !strings.HasPrefix(frame.Function, "runtime.") && !strings.HasPrefix(frame.Function, "internal/runtime/") {
					at = fmt.Sprintf("%s:%d", frame.Function, frame.Line)
					break
				}
				if !more {
					break
				}
			}
			fmt.Fprintf(f, "%d %d %d %x %s\n", r.AllocObjects, `+size+`, r.Stack[1], r.Stack[0], at)
		}
		f.Close()
	}
`)
	imports := "import (\n"
	for _, name := range []string{"fmt", "os", "runtime", "strings"} {
		if !strings.Contains(text, "\t\""+name+"\"\n") {
			imports += "\t\"" + name + "\"\n"
		}
	}
	return strings.Replace(text, "import (\n", imports, 1)
}
