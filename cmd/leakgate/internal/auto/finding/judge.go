package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
)

// A Class says whose code keeps what grows. Tests leave things behind on purpose, and so does the
// standard library; users switch off a gate that calls those leaks.
type Class string

// The classes.
const (
	// Leak is growth that one of the user's modules keeps.
	Leak Class = "leak"
	// Dependency is growth that another module keeps, though a test may hold its object.
	Dependency Class = "dependency"
	// Test is growth that tests keep: the root or go statement is in a _test.go file, or in code
	// that only tests use.
	Test Class = "test"
	// Held is growth in an object of a module that a test or benchmark itself keeps: a client that
	// is never closed, or one that is meant to live as long.
	Held Class = "held"
	// Unclosed is a goroutine with an object of a module whose type has a method such as Close or
	// Stop: as a rule the test does not call that method.
	Unclosed Class = "unclosed"
	// Passing is growth in goroutines that come and go: each holds at most one object, and their
	// number does not grow with each call.
	Passing Class = "passing"
	// Library is growth that the standard library keeps, with no type of a module on the path to
	// it.
	Library Class = "library"
	// Unnamed is growth without a known path.
	Unnamed Class = "unnamed"
	// Suppressed is growth that Modules.Ignored declares no leak.
	Suppressed Class = "suppressed"
)

// Modules describes the modules of a program and what is known of their code.
type Modules struct {
	Own  []string          // paths of the user's modules
	Deps map[string]string // versions of other modules, by path
	Std  *symbol.Modules   // tells the standard library's packages from others
	// Closer returns the method that ends the use of a type, "" if there is none.
	Closer func(typ string) string
	// OnlyTests takes the name of a function and returns the function, or the type of a method,
	// that only tests use; "" if other code uses it.
	OnlyTests func(function string) string
	// TestsAssign reports whether tests assign a value to a package variable.
	TestsAssign func(variable string) bool
	// Ignored reports whether growth with one of these names is declared no leak, and why.
	Ignored func(names ...string) (reason string, ok bool)
}

// A Growth is one failed bound, with its class.
type Growth struct {
	Bound verdict.Bound
	Class Class
	// Root is equal for the same cause in all packages and tests.
	Root string
	// Module is the dependency that keeps the growth, with its version; "" for other classes.
	Module string
	Reason string // why it is suppressed, unclosed or the tests' own
	// Registry says that the root of a leak is a package variable that is a map or a slice itself,
	// which may be meant to grow.
	Registry bool
}

// Sort judges each failed bound of a record that has a holder. loop says that the record is of the
// loop of one benchmark, which keeps the objects that it has made before.
func (m *Modules) Sort(r *verdict.Result, loop bool) []Growth {
	var all []Growth
	for _, b := range r.Bounds {
		if b.Verdict == verdict.Fail && b.Holder != nil {
			g := m.judge(b)
			if h := b.Holder; g.Class == Leak && loop && h.Kind == "frame" && h.Goroutines == 1 {
				// The goroutine of a server that the benchmark made, for example.
				if reason := m.closer(h); reason != "" {
					g.Class, g.Reason = Held, reason
				}
			}
			if (g.Class == Leak || g.Class == Dependency) && passes(b, r.Bounds) {
				g.Class, g.Module = Passing, ""
			}
			all = append(all, g)
		}
	}
	m.spreadUnclosed(all)
	return all
}

// spreadUnclosed judges goroutines by those of the same object, which start them: at least as many
// of these grow with each call, and they run the function that starts the others, or a method of
// the object whose method does; or the others start them. If tests do not close that object, none
// of them is a leak.
func (m *Modules) spreadUnclosed(all []Growth) {
	var goroutines []*Growth
	reasons := make(map[*Growth]string) // of those that may be unclosed
	for i := range all {
		if g := &all[i]; g.Bound.Holder.Kind == "goroutine" {
			goroutines, reasons[g] = append(goroutines, g), m.closer(g.Bound.Holder)
		}
	}
	for again := true; again; {
		again = false
		for _, g := range goroutines {
			unclosed, reason := 0.0, ""
			for _, of := range goroutines {
				if reasons[of] != "" && (starts(of.Bound.Holder, g.Bound.Holder) || starts(g.Bound.Holder, of.Bound.Holder)) {
					unclosed, reason = unclosed+rate(of), reasons[of]
				}
			}
			if g.Class == Leak && reason != "" && unclosed >= rate(g) {
				g.Class, g.Reason, reasons[g], again = Unclosed, reason, reason, true
			}
		}
	}
}

// rate is the growth with each call: 1 for "+1.00 goroutine/op".
func rate(g *Growth) float64 {
	n, _, _ := strings.Cut(g.Bound.Growth, " ")
	r, _ := strconv.ParseFloat(strings.ReplaceAll(n, ",", ""), 64)
	return r
}

// starts reports whether goroutines run the function that starts others, or a method of the same
// type.
func starts(by, others *verdict.Holder) bool {
	of := receiver(others.CreatedBy)
	return by.Root == others.CreatedBy || slices.ContainsFunc(by.Runs, func(function string) bool {
		return symbol.Unescape(function) == others.CreatedBy || of != "" && receiver(function) == of
	})
}

// passes reports whether the growth is in a variable of many goroutines, with at most one object in
// each, and these goroutines are not themselves among all that grows: leakcheck has judged that
// their number does not keep pace with the calls. They end by themselves, some time after the call
// that they work for.
func passes(b verdict.Bound, all []verdict.Bound) bool {
	h := b.Holder
	return h.Kind == "frame" && h.Goroutines > 1 && b.Objects <= h.Goroutines && !slices.ContainsFunc(all, func(o verdict.Bound) bool {
		return o.Verdict == verdict.Fail && o.Holder != nil && o.Holder.Kind == "goroutine" && o.Holder.CreatedAt == h.CreatedAt
	})
}

func (m *Modules) judge(b verdict.Bound) Growth {
	b = m.withOwner(b)
	h := b.Holder
	g := Growth{Bound: b, Root: root(h)}
	g.Class, g.Module = m.class(b)
	if g.Class == Leak && h.Kind == "goroutine" {
		g.Class, g.Reason = m.goroutine(h)
	}
	registry := h.Kind == "global" && (strings.HasPrefix(h.Type, "map[") || strings.HasPrefix(h.Type, "[]"))
	if g.Class == Leak && h.Kind == "global" && !registry && m.ofLibrary(h.Packages) && m.TestsAssign(h.Root) {
		g.Class, g.Reason = Test, "tests assign to "+h.Root+", and what it holds is the standard library's"
	}
	if g.Class == Leak || g.Class == Dependency {
		if reason, ok := m.Ignored(b.Path, h.Root, h.CreatedBy); ok {
			g.Class, g.Reason = Suppressed, reason
		}
	}
	g.Registry = g.Class == Leak && registry
	return g
}

// withOwner returns a bound with what else holds its growth in place of its holder, if that is a
// module's and the holder is the tests' own or the standard library's.
func (m *Modules) withOwner(b verdict.Bound) verdict.Bound {
	also := b.Holder.Also
	if also == nil || isBehindElement(also.Path) {
		return b
	}
	if class, _ := m.class(b); class != Test && class != Library {
		return b
	}
	second := b
	second.Selector = strings.Replace(b.Selector, b.Path, also.Path, 1)
	second.Holder, second.File, second.Line, second.Path = also, also.File, also.Line, also.Path
	if class, _ := m.class(second); class != Leak && class != Dependency {
		return b
	}
	return second
}

// isBehindElement reports whether a path leads on from an element of a container. What an element
// refers to may belong to a test that has it: a client, among others in a registry. The element
// itself is the container's.
func isBehindElement(path string) bool {
	_, below, ok := strings.Cut(path, "[")
	return ok && strings.Contains(below, ".")
}

// goroutine tells goroutines that the user's modules leak from those that tests leave behind.
func (m *Modules) goroutine(h *verdict.Holder) (Class, string) {
	for _, function := range []string{h.CreatedBy, h.Root} {
		if name := m.OnlyTests(function); name != "" {
			return Test, "only tests use " + name
		}
	}
	if i := slices.IndexFunc(h.Runs, func(f string) bool { return isTestPackage(symbol.Package(f)) }); i >= 0 {
		return Test, "they run " + h.Runs[i]
	}
	if reason := m.closer(h); reason != "" {
		return Unclosed, reason
	}
	return Leak, ""
}

// closer says that a variable is an object of a type that can be closed, or that goroutines hold
// one, or run a method of one; "" otherwise.
func (m *Modules) closer(h *verdict.Holder) string {
	types := append([]string{h.Type}, h.Holds...)
	// An object that several goroutines refer to is charged to one of them, and a method may need
	// its receiver no more. The object whose method a goroutine runs is therefore not always in
	// h.Holds.
	for _, function := range h.Runs {
		types = append(types, receiver(function))
	}
	for _, typ := range types {
		if method := m.Closer(typ); method != "" {
			return "its " + typ + " has " + method
		}
	}
	return ""
}

// receiver returns the pointer type of a method's receiver; "" for other functions.
func receiver(function string) string {
	pkg, method, ok := strings.Cut(function, ".(*")
	typ, name, ok2 := strings.Cut(method, ").")
	if !ok || !ok2 || strings.Contains(name, ".") { // a function literal need not capture the receiver
		return ""
	}
	return "*" + symbol.Unescape(pkg) + "." + typ
}

// ofLibrary reports whether the packages of the types on a path are all in the standard library.
func (m *Modules) ofLibrary(packages []string) bool {
	return len(packages) > 0 && !slices.ContainsFunc(packages, func(pkg string) bool { return !m.Std.IsStandard(pkg) })
}

// root names the cause of growth: a variable, or a go statement, whichever function it starts.
func root(h *verdict.Holder) string {
	if h.Kind == "goroutine" {
		return "go " + cmp.Or(h.CreatedBy, h.Root) + " " + file(h.CreatedAt)
	}
	return h.Kind + " " + h.Root
}

// file is a "file:line" without the line.
func file(at string) string {
	if i := strings.LastIndexByte(at, ':'); i > 0 {
		return at[:i]
	}
	return at
}

func isTestFile(name string) bool { return strings.HasSuffix(name, "_test.go") }

// isTestPackage reports whether a package has test files only.
func isTestPackage(pkg string) bool {
	return strings.HasSuffix(pkg, "_test") || strings.HasSuffix(pkg, ".test")
}

func (m *Modules) class(b verdict.Bound) (Class, string) {
	h := b.Holder
	switch {
	case h.Test, isTestFile(b.File), isTestFile(file(h.At)), isTestFile(file(h.CreatedAt)), isTestPackage(h.Package):
		if h.Kind == "goroutine" {
			return Test, ""
		}
		if slices.ContainsFunc(h.Within, func(pkg string) bool { return !isTestPackage(pkg) && m.isOwn(pkg) }) {
			return Held, ""
		}
		if i := slices.IndexFunc(h.Within, func(pkg string) bool { return m.isOthers(pkg) && !isTestPackage(pkg) && !m.isOwn(pkg) }); i >= 0 {
			return Dependency, m.dependency(h.Within[i])
		}
		return Test, ""
	case h.Kind == "other":
		return Unnamed, ""
	}
	// A goroutine that runs a function of the standard library belongs to the package that started
	// it; a resource to the one that made it, and what lies in a registry to the one that added it.
	packages := []string{h.Package, symbol.Package(h.CreatedBy)}
	switch h.Kind {
	case "goroutine", "resource":
	case "global":
		packages = append([]string{symbol.Package(h.CreatedBy), h.Package}, h.Packages...)
	default:
		packages = append([]string{h.Package}, h.Packages...)
	}
	i := slices.IndexFunc(packages, m.isOthers)
	switch {
	case i < 0 && h.Kind == "resource" && h.CreatedBy == "":
		return Unnamed, ""
	case i < 0:
		return Library, ""
	}
	pkg := packages[i]
	if isTestPackage(pkg) {
		return Test, ""
	}
	if m.isOwn(pkg) {
		return Leak, ""
	}
	return Dependency, m.dependency(pkg)
}

// isOthers reports whether a package is neither the standard library's nor the tool's.
func (m *Modules) isOthers(pkg string) bool {
	return pkg != "" && !m.Std.IsStandard(pkg) && !symbol.IsTool(pkg)
}

func (m *Modules) isOwn(pkg string) bool {
	own, dep := longest(m.Own, pkg), longest(m.paths(), pkg)
	return own != "" && len(own) >= len(dep)
}

func (m *Modules) paths() []string {
	var paths []string
	for path := range m.Deps {
		paths = append(paths, path)
	}
	return paths
}

// dependency returns the module of a package, with the version if there is one.
func (m *Modules) dependency(pkg string) string {
	path := longest(m.paths(), pkg)
	if path == "" {
		return pkg
	}
	if v := m.Deps[path]; v != "" && v != "(devel)" {
		return path + " " + v
	}
	return path
}

// longest returns the longest of some module paths that a package can be in; "" if it is in none.
func longest(paths []string, pkg string) string {
	best := ""
	for _, path := range paths {
		if (pkg == path || strings.HasPrefix(pkg, path+"/")) && len(path) > len(best) {
			best = path
		}
	}
	return best
}
