package message

import (
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A registry is a variable of the standard library that programs add to, or several, by the
// beginning of their names, and the usual cause for entries that stay. by is how the names of the
// functions begin that add an entry.
type registry struct{ root, cause, by string }

// Mappers are the records of all mappings that were made with Mmap and not unmapped (go1.26
// syscall/syscall_unix.go, mmapper).
var Mappers = [...]string{"syscall.mapper", "golang.org/x/sys/unix.mapper"}

// registries lists registries with a call that removes entries, and registries with none (go1.26
// and go1.27 os/signal/signal.go, runtime/cgo/handle.go, net/http/server.go, expvar/expvar.go,
// reflect/type.go, runtime/pprof/pprof.go, database/sql/sql.go, log/slog/logger.go,
// syscall/env_unix.go, encoding/gob/type.go).
var registries = []registry{
	{"os/signal.handlers", "signal.Stop is not called for a channel that was given to signal.Notify", "os/signal.Notify"},
	{"runtime/cgo.handles", "Delete is not called for a cgo.Handle", "runtime/cgo.NewHandle"},
	{"runtime/pprof.profiles", "Remove is not called for what was added to a pprof.Profile", "runtime/pprof."},
	{"net/http.defaultServeMux", newHandlers, "net/http.Handle"},
	{"net/http.DefaultServeMux", newHandlers, "net/http.Handle"},
	{"syscall.env", "os.Setenv is called with a new name each time, and os.Unsetenv is not", "os.Setenv"},
	{Mappers[0], "Munmap is not called for what syscall.Mmap returned", "syscall.(*mmapper).Mmap"},
	{Mappers[1], "Munmap is not called for what unix.Mmap returned", "golang.org/x/sys/unix.(*mmapper).Mmap"},
	{"expvar.vars", "expvar.Publish is called again and again: nothing takes variables out", "expvar."},
	{"database/sql.drivers", "sql.Register is called again and again: nothing takes drivers out", "database/sql.Register"},
	{"encoding/gob.", "package gob is given a new type each time, and keeps what it knows of types for ever", "encoding/gob."},
	{"reflect.", "reflect.StructOf, FuncOf, MapOf, SliceOf, ChanOf or ArrayOf makes types anew, which are kept for ever", "reflect."},
}

// KeptBeyond is the usual cause for what elements outside of the length of slices hold.
const KeptBeyond = "elements beyond the length are kept alive: clear them before s = s[:n] (clear, slices.Delete)"

const newHandlers = "http.Handle is called again and again: nothing takes handlers out of a ServeMux"

// HeapCause returns the usual cause for growth at the last branch of a line, which begins at a
// root; "" if none is known.
func HeapCause(line []*tree.Branch, isProgram func(pkg string) bool) string {
	if cause := holderCause(line, isProgram); cause != "" {
		return cause
	}
	root, last := line[0], line[len(line)-1]
	switch typ := strings.TrimPrefix(last.Typ, "*"); {
	case last.IsBeyondLength():
		return KeptBeyond
	case typ == "string" && 2*last.UnreachedBytes > last.Bytes:
		return "a part of a string keeps all of it alive: copy the part (strings.Clone)"
	case IsDeferredCall(root) && last == root:
		return "a defer statement in a loop: the calls pile up until " + strings.TrimSuffix(root.Name, deferredCall) + " returns"
	case IsGoroutineRecord(root) && typ == "runtime._defer":
		return "a defer statement in a loop: the calls pile up until the function returns"
	case (typ == "text/template.Template" || typ == "html/template.Template") && isTemplateSet(last):
		return "New on a template that is shared adds to its set of templates: Clone it first"
	case typ == "database/sql.Stmt" && strings.Contains(last.Path, ".dep[$key]"):
		return "a sql.Stmt is not closed"
	case (typ == "database/sql.depSet" || typ == "database/sql.driverConn") && strings.Contains(last.Path, ".dep["):
		return "sql.Rows, a sql.Tx or a sql.Conn is not closed"
	}
	return ""
}

// holderCause returns the forgotten call because of which the last branch of a line is held, or "".
// For a finalizer or cleanup it searches all branches below the root: the path back to the object
// may be beside the line.
func holderCause(line []*tree.Branch, isProgram func(pkg string) bool) string {
	root := line[0]
	switch root.Root.Kind {
	case refscan.RootGlobal:
		for i := range registries {
			if strings.HasPrefix(root.Name, registries[i].root) {
				return registries[i].cause
			}
		}
	case refscan.RootTimer:
		return timerCause(root, isProgram)
	case refscan.RootFinalizer:
		if typ := specialOf(root.Name); typ != "" && holdsType(root, typ) {
			if isSetAgain(root, typ) {
				return "a finalizer that sets itself again keeps its object"
			}
			return "a finalizer is never run for an object that can be reached from itself"
		}
	case refscan.RootCleanup:
		if typ := specialOf(root.Name); typ != "" && holdsType(root, typ) {
			return "a cleanup is never run for an object that can be reached from the cleanup's function or argument"
		}
	}
	return ContextChild(line)
}

// Registry returns the name of a root that is a registry, and how the names of the functions begin
// that add to it; nil if it is none.
func Registry(root *tree.Branch) (name string, by []string) {
	for i := range registries {
		if strings.HasPrefix(root.Name, registries[i].root) {
			return root.Name, []string{registries[i].by}
		}
	}
	return "", nil
}

// isSetAgain reports whether the objects of a finalizer are at its root alone: no reference leads
// back to them from the objects or from the finalizer's function.
func isSetAgain(root *tree.Branch, typ string) bool {
	return root.Typ == typ && root.Objects > 0 && root.Recursion == "" &&
		!slices.ContainsFunc(root.Children, func(b *tree.Branch) bool { return holdsType(b, typ) })
}

// timerCause returns what keeps a timer pending.
func timerCause(root *tree.Branch, isProgram func(pkg string) bool) string {
	if root.Root.Period > 0 {
		return "" // a ticker is in use, or is to be stopped by the goroutine that receives from it
	}
	runs := strings.TrimPrefix(root.Name, symbol.TimerRoot)
	switch pkg := symbol.Package(runs); {
	case pkg == "context":
		return forgottenCancel
	case pkg == "net":
		return "a net.Conn with a deadline is not closed"
	case isProgram(pkg):
		return "Stop is not called for the Timer that time.AfterFunc returned"
	}
	return ""
}

const forgottenCancel = "the cancel function of a context is not called"

const deferredCall = ".$defer"

// ContextChild returns why a context has more and more children, "" if the line does not end with a
// context's child.
func ContextChild(line []*tree.Branch) string {
	last := line[len(line)-1]
	typ := strings.TrimPrefix(last.Typ, "*")
	if symbol.Package(typ) != "context" {
		return ""
	}
	const children = "children[$key]"
	if !strings.HasSuffix(last.Path, children) && !strings.HasSuffix(last.Recursion, children) {
		return ""
	}
	if typ == "context.afterFuncCtx" {
		return "the stop function that context.AfterFunc returned is not called, and its context is not done"
	}
	return forgottenCancel
}

// isTemplateSet reports whether the set that templates share leads to a branch, or to others of its
// type.
func isTemplateSet(b *tree.Branch) bool {
	const text, html = "common.tmpl[*]", "nameSpace.set[*]"
	return strings.HasSuffix(b.Path, text) || strings.HasSuffix(b.Path, html) ||
		strings.HasSuffix(b.Recursion, text) || strings.HasSuffix(b.Recursion, html)
}

// specialOf returns the type of the objects that a finalizer or cleanup is for, from the root's
// name: "finalizer(*app.File)".
func specialOf(name string) string {
	_, typ, ok := strings.Cut(name, "(")
	if !ok {
		return ""
	}
	return naming.CleanType(strings.TrimSuffix(typ, ")"))
}

// holdsType reports whether a branch or one below it is of a type.
func holdsType(b *tree.Branch, typ string) bool {
	found := false
	tree.Forest{b}.All(func(b *tree.Branch) bool {
		found = found || b.Typ == typ
		return !found
	})
	return found
}

// IsGoroutineRecord reports whether a root is the runtime's record of a goroutine.
func IsGoroutineRecord(root *tree.Branch) bool {
	return root.Root.Kind != refscan.RootGlobal && strings.HasPrefix(root.Name, tree.GoroutineRecord)
}

// Families maps packages to the family of their goroutines and objects: one forgotten call leaves
// some of each package of a family.
var Families = map[string]string{
	"net/http": "connection", "net/http/httptest": "connection", "net/http/internal/http2": "connection",
	"net": "connection", "internal/poll": "connection", "crypto/tls": "connection",
	"database/sql": "database", "os/exec": "command", "os/signal": "signal", "context": "context", "reflect": "reflect",
	"encoding/gob": "gob",
}

// ReflectNames is the runtime's record of names and types that package reflect has made.
const ReflectNames = "runtime.reflectOffs"

// FamilyOf returns the family that a branch of the standard library belongs to, "" if there is
// none.
func FamilyOf(line []*tree.Branch) string {
	root := line[0]
	for i := range line {
		if ContextChild(line[:i+1]) != "" {
			return Families["context"]
		}
	}
	if root.Name == ReflectNames {
		return Families["reflect"]
	}
	if name, ok := strings.CutPrefix(root.Name, symbol.TimerRoot); ok {
		return Families[symbol.Package(name)]
	}
	if root.Name == "syscall.env" || root.Name == "syscall.envs" {
		// names and values of one os.Setenv
		return "environment"
	}
	if IsSpecial(root.Root) && specialOf(root.Name) == "*os.Process" {
		return Families["os/exec"]
	}
	return Families[symbol.Package(root.Name)]
}

const CausePrefix = "the usual cause: "

// UsualCause returns a line with the forgotten call because of which a trace's objects are held,
// nil if none is known.
func UsualCause(t *tree.Trace, env *environ.Environment) []string {
	for i := range t.Branches {
		if cause := holderCause(t.Branches[:i+1], env.IsProgram); cause != "" {
			return []string{CausePrefix + cause}
		}
	}
	return nil
}

// IsSpecial reports whether a root is a finalizer's or a cleanup's. Only the objects that it keeps
// tell which code has set it.
func IsSpecial(info *refscan.RootInfo) bool {
	return info.Kind == refscan.RootFinalizer || info.Kind == refscan.RootCleanup
}

func IsDeferredCall(root *tree.Branch) bool { return strings.HasSuffix(root.Name, deferredCall) }
