package inplace

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// While the caller is pinned, nothing may block, allocate, grow the stack or call the race
// detector. The functions of the walk have the directives for that, and call nothing but each other
// and memmove.
func TestWalkIsBare(t *testing.T) {
	r := bareWalk(t, nil)
	require.Empty(t, r.faults)
	require.Greater(t, len(r.read), 5)
}

// The same holds for the other functions that the pinned caller calls, except that the stack has
// room.
func TestPinnedIsBare(t *testing.T) {
	for _, system := range []string{"populate_linux.go", "populate_other.go"} {
		r := barePinned(t, system, nil)
		require.Empty(t, r.faults, system)
		for _, name := range []string{"populate", "run", "pages"} {
			require.Contains(t, r.read, name, system)
		}
	}
}

// The reader finds calls that are not allowed.
func TestBareFinds(t *testing.T) {
	const marks = "//go:nosplit\n//go:norace\n//go:nocheckptr\n"
	for body, fault := range map[string]string{
		"println()":                   `walkBits calls "println"`,
		"_ = make([]byte, 10)":        `walkBits calls "make"`,
		"syscall.Syscall(1, 2)":       `walkBits calls "Syscall"`,
		"lock.Lock()":                 `walkBits calls "Lock"`,
		"go c.walkSpans()":            "walkBits has *ast.GoStmt",
		"defer c.walkSpans()":         "walkBits has *ast.DeferStmt",
		"<-c.done":                    "walkBits receives",
		"c.done <- 1":                 "walkBits has *ast.SendStmt",
		"_ = &control{}":              "walkBits has *ast.CompositeLit",
		"for range c.list {}":         "walkBits has *ast.RangeStmt",
		"func() {}()":                 "walkBits has *ast.FuncLit",
		"c.a, c.b = c.b, c.a":         "",
		"c.unmarked()":                "unmarked is not marked //go:nosplit",
		"for { c.walkSpans() }":       "",
		"c.walkBits(offheap.Byte(1))": "",
	} {
		source := "package inplace\n" + marks + "func (c *control) walkBits(a uintptr) { " + body + " }\nfunc (c *control) unmarked() {}\n"
		r := bareWalk(t, source)
		if fault == "" {
			require.Empty(t, r.faults, body)
		} else {
			require.Contains(t, strings.Join(r.faults, "\n"), fault, body)
		}
	}
	r := barePinned(t, "populate_linux.go", "package inplace\n//go:norace\nfunc (c *control) run(from uintptr) { fmt.Println() }\nfunc (c *control) pages() {}\n")
	require.Equal(t, []string{`run calls "Println"`}, r.faults)
}

// A reader checks functions that run while the caller is pinned, and the functions that they call.
type reader struct {
	marks     []string // directives that the functions need
	functions map[string]*ast.FuncDecl
	known     map[string]bool // other functions that they may call, and types that they may convert to
	read      []string
	faults    []string
}

// bareWalk checks the walk. Functions of another source replace those with the same names.
func bareWalk(t *testing.T, other any) *reader {
	r := &reader{marks: []string{"//go:nosplit", "//go:norace", "//go:nocheckptr"}}
	r.know("memmove", "uint8", "uintptr", "Sizeof", "Pointer")
	r.add(t, "walk.go", nil)
	r.add(t, "../../memory/offheap/peek.go", nil)
	r.add(t, "other.go", other)
	r.function("walk")
	return r
}

// barePinned checks the functions that call the walk. They may make a system call that the
// scheduler does not know of, read the clock, which is such a system call or the runtime's own
// clock, and call GOMAXPROCS, which changes nothing there and takes a lock of the runtime for a
// moment.
func barePinned(t *testing.T, system string, other any) *reader {
	r := &reader{marks: []string{"//go:norace"}}
	r.know("growStack", "procPin", "procUnpin", "callWalk", "GOMAXPROCS", "Clock", "RawSyscall", "address", "uintptr", "Pointer", "Byte")
	r.add(t, "take.go", nil)
	r.add(t, system, nil)
	r.add(t, "other.go", other)
	r.function("pinned")
	return r
}

func (r *reader) know(names ...string) {
	r.known = make(map[string]bool)
	for _, name := range names {
		r.known[name] = true
	}
}

func (r *reader) add(t *testing.T, name string, source any) {
	if name == "other.go" && source == nil {
		return
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
	require.NoError(t, err)
	if r.functions == nil {
		r.functions = make(map[string]*ast.FuncDecl)
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			r.functions[f.Name.Name] = f
		}
	}
}

func (r *reader) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// function checks a function and, once each, the functions that it calls.
func (r *reader) function(name string) {
	f := r.functions[name]
	r.known[name] = true
	r.read = append(r.read, name)
	for _, mark := range r.marks {
		if f.Doc == nil || !strings.Contains(docOf(f), mark) {
			r.fault("%s is not marked %s", name, mark)
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			r.call(name, n.Fun)
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				r.fault("%s receives", name)
			}
		case *ast.CompositeLit:
			if typ, ok := n.Type.(*ast.Ident); !ok || typ.Name != "region" { // a value
				r.fault("%s has %T", name, n)
			}
		case *ast.FuncLit, *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt, *ast.RangeStmt:
			r.fault("%s has %T", name, n)
		}
		return true
	})
}

func (r *reader) call(by string, fun ast.Expr) {
	called := ""
	switch fun := fun.(type) {
	case *ast.Ident:
		called = fun.Name
	case *ast.SelectorExpr:
		called = fun.Sel.Name
	case *ast.ParenExpr: // a conversion
		return
	}
	switch {
	case r.known[called]:
	case r.functions[called] != nil:
		r.function(called)
	default:
		r.fault("%s calls %q", by, called)
	}
}

func docOf(f *ast.FuncDecl) string {
	var b strings.Builder
	for _, c := range f.Doc.List {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}
