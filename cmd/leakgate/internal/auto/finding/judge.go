package finding

import (
	"cmp"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/source"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
)

// A Class says whose growth something is.
type Class string

// The classes.
const (
	// Leak is growth that code of the user's modules makes, and that nobody else has to end.
	Leak Class = "leak"
	// Dependency is growth that another module makes without the user's code.
	Dependency Class = "dependency"
	// Test is growth that tests make.
	Test Class = "test"
	// Unended is growth in, or made for, an object that the modules hand to a test, which does not
	// end its use.
	Unended Class = "unended"
	// Passing is growth in goroutines that come and go: each holds at most one object, and their
	// number does not grow with each call.
	Passing Class = "passing"
	// Expiring is growth in a container from which the modules take what is old, though not as soon
	// as it was waited for; or of the standard library's timers for deadlines.
	Expiring Class = "expiring"
	// Unnamed is growth that only the standard library makes, or nobody who is known.
	Unnamed Class = "unnamed"
	// Suppressed is growth that Modules.Ignored declares no leak.
	Suppressed Class = "suppressed"
)

// Modules describes the modules of a program and what is known of their code.
type Modules struct {
	Own  []string          // paths of the user's modules
	Dirs map[string]string // their folders, by path
	Deps map[string]string // versions of other modules, by path
	Std  *symbol.Modules   // tells the standard library's packages from others
	// Handings returns how a function leaves it to its callers to end what it makes.
	Handings func(function string) []source.Handing
	// Ends says how a caller ends the use of a type, given by its full name: "call Close of"; "" if
	// it does not
	Ends func(typ string) string
	// CallAt returns the file:line of the call of a function before a file:line that it returns to.
	CallAt func(at, function string) string
	// OnlyTests takes the name of a function and returns the function, the type of a method or the
	// package that only tests use; "" if other code uses it.
	OnlyTests func(function string) string
	// Sweeps returns the function of a package that takes what is old out of a container, given by
	// the name of its variable or field; "" if there is none.
	Sweeps func(pkg, container string) string
	// TestsAssign reports whether tests assign a value to a package variable.
	TestsAssign func(variable string) bool
	// Ignored reports whether growth with one of these names is declared no leak, and why.
	Ignored func(names ...string) (reason string, ok bool)
}

// A Growth is one failed bound, with its class.
type Growth struct {
	Bound verdict.Bound
	Class Class
	// Root is equal for the same cause in all packages and tests: the Place, and the function that
	// makes what grows there.
	Root  string
	Place string // what holds it; of goroutines, their go statement
	// Maker is the call of the user's code that makes what grows; nil: not known
	Maker *verdict.Call
	// Module is the dependency that makes the growth, with its version; "" for other classes.
	Module string
	Reason string // why it is suppressed, unended or the tests' own
	// Mixed says that some of the objects that are not ended are, so that it matters which function
	// does what.
	Mixed bool
	// Ended says that it is a leak though a test ends the use of what it was handed.
	Ended string
	// Registry says that the root of a leak is a package variable that is a map or a slice itself,
	// which may be meant to grow.
	Registry bool
}

// An Evidence is the record of an exploration, and what its functions handed out and ended with
// each call; nil: that was not counted.
type Evidence struct {
	Record    *verdict.Result
	Lifetimes map[string]repeat.Lifetime
}

// Sort judges each failed bound of a record that has a holder.
func (m *Modules) Sort(e Evidence) []Growth {
	symbol.Learn(e.Record.Modules...)
	var all []Growth
	for _, b := range e.Record.Bounds {
		if b.Verdict == verdict.Fail && b.Holder != nil {
			all = append(all, m.judge(b, e))
		}
	}
	m.otherEnds(all)
	return all
}

// otherEnds judges goroutines that wait for a connection by its other end: if tests keep as many
// connections open, they are the tests'.
func (m *Modules) otherEnds(all []Growth) {
	for i := range all {
		g := &all[i]
		if g.Class != Leak || g.Bound.Holder.State != "IO wait" {
			continue
		}
		for j := range all {
			o := &all[j]
			sockets := slices.ContainsFunc(o.Bound.Resources, func(r verdict.Resource) bool { return strings.HasPrefix(r.Name, "socket") })
			if o.Class == Test && sockets && o.Bound.PerCall >= g.Bound.PerCall {
				g.Class, g.Ended, g.Reason = Test, "", "a test keeps the other end of their connection open"
			}
		}
	}
}

func (m *Modules) judge(b verdict.Bound, e Evidence) Growth {
	b = m.withOwner(b)
	h := b.Holder
	g := Growth{Bound: b}
	m.classify(&g, e)
	g.Place, g.Root = m.root(&g)
	if (g.Class == Leak || g.Class == Dependency) && passes(b, e.Record.Bounds) {
		g.Class, g.Module = Passing, ""
	}
	if g.Class == Leak {
		if why := m.expires(&g); why != "" {
			g.Class, g.Reason, g.Ended = Expiring, why, ""
		}
	}
	if g.Class == Leak || g.Class == Dependency {
		names := []string{b.Path, h.Root, h.CreatedBy}
		if g.Maker != nil {
			names = append(names, symbol.Unescape(g.Maker.Function))
		}
		if reason, ok := m.Ignored(names...); ok {
			g.Class, g.Reason = Suppressed, reason
		}
	}
	g.Registry = g.Class == Leak && isRegistry(h)
	return g
}

// element matches the names of containers on a path.
var element = regexp.MustCompile(`(\w+)\[`)

// expires says why what grows may go as time goes on, later than it was waited for; "" if it may
// not.
func (m *Modules) expires(g *Growth) string {
	h := g.Bound.Holder
	if h.Kind == "timer" && strings.Contains(h.Root, "(net.(*pipe).Set") {
		return "it goes when the deadline is over"
	}
	if h.Kind == "goroutine" || h.Kind == "resource" {
		return ""
	}
	packages := []string{h.Package}
	if g.Maker != nil {
		packages = append(packages, symbol.Package(g.Maker.Function))
	}
	for _, name := range element.FindAllStringSubmatch(g.Bound.Path, -1) {
		for _, pkg := range packages {
			if by := m.Sweeps(pkg, name[1]); by != "" {
				return by + " takes out what is old, which was not waited for"
			}
		}
	}
	return ""
}

// isRegistry reports whether a package variable that holds growth is a map or a slice itself.
func isRegistry(h *verdict.Holder) bool {
	return h.Kind == "global" && (strings.HasPrefix(h.Type, "map[") || strings.HasPrefix(h.Type, "[]"))
}

// classify decides by the code that makes what grows: its innermost call that is neither the
// standard library's nor a dependency's. What the modules' code makes for an object that it hands
// to a test is the test's to end.
func (m *Modules) classify(g *Growth, e Evidence) {
	h := g.Bound.Holder
	stack, maker := m.making(&g.Bound)
	if maker < 0 {
		g.Class, g.Module = m.withoutMaker(&g.Bound, stack)
		return
	}
	if c := &stack[maker]; c.Calls != "" {
		c.At = m.CallAt(c.At, c.Calls)
	}
	g.Maker = &stack[maker]
	if why, ok := m.isOfTests(*g.Maker); ok {
		g.Class, g.Reason = Test, why
		return
	}
	if why := m.testsHold(&g.Bound); why != "" {
		g.Class, g.Reason = Test, why
		return
	}
	if (h.Test || m.isInTests(&g.Bound)) && !m.isForgotten(&g.Bound) {
		if i := slices.IndexFunc(h.Within, func(pkg string) bool { return !isTestPackage(pkg) && m.isOwn(pkg) }); i >= 0 {
			g.Class, g.Reason = Unended, "a test or benchmark keeps the object that it grows in"
			return
		}
		if h.Kind != "goroutine" && h.Kind != "resource" {
			g.Class, g.Reason = Test, "a test keeps it"
			return
		}
	}
	g.Class, g.Reason, g.Ended = m.handedOut(g, stack, maker, e)
}

// isForgotten reports whether objects of the standard library grow for a usual mistake: their maker
// forgets a call that ends them, whoever keeps what they are for.
func (m *Modules) isForgotten(b *verdict.Bound) bool {
	pkg := symbol.Package(strings.TrimLeft(b.Type, "*[]"))
	return b.Holder.Cause != "" && pkg != "" && m.Std.IsStandard(pkg)
}

// making returns the calls that decide whose growth it is, and the index of the maker; -1: none of
// them is a test's or of the user's modules. Those that make an element count before those that
// fill its container, unless that is a map by pointers, whose entries should go with their keys.
// What a dependency makes and keeps in a finalizer of its own is the dependency's, and so it is in
// a variable, unless the operating system's resources grow with it.
func (m *Modules) making(b *verdict.Bound) (stack []verdict.Call, maker int) {
	h := b.Holder
	stacks := [][]verdict.Call{m.written(h.Made), m.written(h.Filled)}
	if symbol.IsMapByPointers(h.Container) {
		slices.Reverse(stacks)
	}
	stacks = slices.DeleteFunc(stacks, func(s []verdict.Call) bool { return len(s) == 0 })
	if len(stacks) == 0 {
		return nil, -1
	}
	kept := h.Kind == "global" && len(b.Resources) == 0 || h.Kind == "finalizer" || h.Kind == "cleanup"
	if kept && m.isDependency(h.Package) && !slices.ContainsFunc(stacks, func(s []verdict.Call) bool { return !m.isDependency(symbol.Package(s[0].Function)) }) {
		return stacks[0], -1
	}
	for _, stack := range stacks {
		maker := slices.IndexFunc(stack, func(c verdict.Call) bool {
			_, test := m.isOfTests(c)
			return test || m.isOwn(symbol.Package(c.Function))
		})
		if maker >= 0 {
			return stack, maker
		}
	}
	return stacks[0], -1
}

// isOfTests reports whether a call is a test's, and why, where its file does not say so.
func (m *Modules) isOfTests(c verdict.Call) (why string, ok bool) {
	if strings.Contains(c.At, "_test.go:") {
		return "", true
	}
	if name := m.OnlyTests(c.Function); name != "" {
		return "only tests use " + name, true
	}
	return "", false
}

// withoutMaker is the class of growth that neither a test nor the user's modules are known to make:
// by its holder, or by another module that makes it.
func (m *Modules) withoutMaker(b *verdict.Bound, stack []verdict.Call) (Class, string) {
	h := b.Holder
	for _, c := range stack {
		if pkg := symbol.Package(c.Function); m.isOthers(pkg) {
			return Dependency, m.dependency(pkg)
		}
	}
	if h.Test || m.isInTests(b) || strings.Contains(h.At+h.CreatedAt, "_test.go:") {
		return Test, ""
	}
	packages := []string{symbol.Package(h.CreatedBy), h.Package}
	if h.Kind != "goroutine" && h.Kind != "resource" {
		packages = append(packages, h.Packages...)
	}
	i := slices.IndexFunc(packages, m.isOthers)
	switch {
	case i < 0 || h.Kind == "other":
		return Unnamed, ""
	case isTestPackage(packages[i]):
		return Test, ""
	case m.isOwn(packages[i]):
		return Leak, ""
	}
	return Dependency, m.dependency(packages[i])
}

// isInTests reports whether the root of growth is declared in a test file, or in a package that
// only tests use.
func (m *Modules) isInTests(b *verdict.Bound) bool {
	h := b.Holder
	return strings.HasSuffix(b.File, "_test.go") || isTestPackage(h.Package) || h.Kind == "global" && m.OnlyTests(h.Root) != ""
}

// testsHold says why the modules' code makes something for a test: a function of the test's runs in
// the goroutines, or the test gave the variable its value.
func (m *Modules) testsHold(b *verdict.Bound) string {
	h := b.Holder
	switch h.Kind {
	case "goroutine":
		if strings.Contains(h.At, "_test.go:") {
			return "they run " + h.Root
		}
		for _, c := range h.Runs {
			if _, test := m.isOfTests(c); test {
				return "they run " + short(c.Function)
			}
		}
	case "global":
		library := len(h.Packages) > 0 && !slices.ContainsFunc(h.Packages, func(pkg string) bool { return !m.Std.IsStandard(pkg) })
		if library && h.Cause == "" && !isRegistry(h) && m.TestsAssign(h.Root) {
			return "tests assign to " + h.Root + ", and what it holds is the standard library's"
		}
	}
	return ""
}

// withOwner returns a bound with what else holds its growth in place of its holder, if that is the
// modules' and the holder is the tests'.
func (m *Modules) withOwner(b verdict.Bound) verdict.Bound {
	also := b.Holder.Also
	if also == nil || isBehindElement(also.Path) || !b.Holder.Test && !m.isInTests(&b) {
		return b
	}
	second := b
	second.Selector = strings.Replace(b.Selector, b.Path, also.Path, 1)
	second.File, second.Line, second.Path = also.File, also.Line, also.Path
	holder := *also
	holder.Made, holder.Filled, holder.Cause = b.Holder.Made, b.Holder.Filled, b.Holder.Cause
	second.Holder = &holder
	if also.Test || m.isInTests(&second) || !slices.ContainsFunc(append([]string{also.Package}, also.Packages...), m.isOwn) {
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

// root names the cause of growth: place is what holds it, up to the first element of a container,
// and root that with the function that makes it. For goroutines both are the go statement,
// whichever function it starts.
func (m *Modules) root(g *Growth) (place, root string) {
	h := g.Bound.Holder
	switch h.Kind {
	case "goroutine":
		place = "go " + cmp.Or(h.CreatedBy, h.Root) + " " + path.Base(filepath.ToSlash(file(h.CreatedAt)))
		if m.isOwn(symbol.Package(h.CreatedBy)) {
			return place, place
		}
	case "resource":
		place = "resource " + h.Root
	default:
		to, _, _ := strings.Cut(cmp.Or(g.Bound.Path, h.Root), "[")
		place = h.Kind + " " + to
	}
	if g.Maker == nil {
		return place, place
	}
	return place, place + " by " + symbol.Unescape(g.Maker.Function)
}

// file is a "file:line" without the line.
func file(at string) string {
	if i := strings.LastIndexByte(at, ':'); i > 0 {
		return at[:i]
	}
	return at
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

// isTestPackage reports whether a package has test files only.
func isTestPackage(pkg string) bool {
	return strings.HasSuffix(pkg, "_test") || strings.HasSuffix(pkg, ".test")
}
