package message

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

func TypeText(b *tree.Branch) string {
	if b.Typ != "" {
		return textfmt.Abridge(naming.ShortName(b.Typ), MaxNameShown)
	}
	return "(object of unknown type)"
}

// minRoom is the size in bytes from which on a map without entries is said to have had more.
const minRoom = 4 << 10

// isEmptied reports whether a branch is one map that has had entries, and has none now.
func isEmptied(b *tree.Branch) bool {
	return strings.HasPrefix(b.Typ, "map[") && b.Objects == 1 && b.Elems == 0 && b.Bytes >= minRoom
}

// How much of a trace a message shows.
const (
	maxOthers    = 5 // paths beside the trace
	MaxNameShown = 120
)

// Describe returns a branch's type, and remarks on its figures.
func Describe(b *tree.Branch) string {
	s := ""
	if b.Typ != "" {
		s = "  " + textfmt.Abridge(naming.ShortName(b.Typ), MaxNameShown)
	}
	switch {
	case b.Elems > 0:
		s += ", " + textfmt.CountNoun(b.Elems, "entry")
	case isEmptied(b):
		s += ", 0 entries (a map does not give back the room of those that it had)"
	case b.IsEntries():
		s += ", inside of the map"
	}
	if b.ElementObjects > 0 {
		s += fmt.Sprintf(", %s objects at [%d]", textfmt.Count(b.ElementObjects), b.Element)
	}
	if outside, _ := b.OutsideBelow(); outside > 0 {
		noun := "of these"
		if outside > b.Cap { // several in an element
			noun = "objects"
		}
		s += fmt.Sprintf(", len %s, cap %s; %s %s lie beyond the length", textfmt.Count(b.Len), textfmt.Count(b.Cap), textfmt.Count(outside), noun)
	}
	if b.UnreachedBytes > 0 {
		s += fmt.Sprintf(", %s of it outside of the %s", textfmt.ByteCount(b.UnreachedBytes), sliceOrString(b))
	}
	switch {
	case b.IsOver():
		s += ", " + b.EndedState
	case b.Ended > 0:
		s += fmt.Sprintf(", %s of them %s", textfmt.Count(b.Ended), b.EndedState)
	}
	if b.UntypedObjects > 0 {
		s += fmt.Sprintf(", %s of unknown type", textfmt.Count(b.UntypedObjects))
	}
	return s
}

// sliceOrString returns what refers to a branch's objects, which are arrays without pointers.
func sliceOrString(b *tree.Branch) string {
	if strings.HasPrefix(b.Typ, "[]") {
		return "slices"
	}
	return "strings"
}

// Others lists the largest branches below the culprits that the trace does not show.
func Others(t *tree.Trace, culprits []*tree.Branch, below bool) []string {
	var found []*tree.Branch
	add := func(b *tree.Branch) {
		if t.Weight(b.Own()) > 0 && !slices.Contains(t.Branches, b) {
			found = append(found, b)
		}
	}
	for _, c := range culprits {
		if !below {
			add(c)
			continue
		}
		tree.Forest{c}.All(func(b *tree.Branch) bool { add(b); return true })
	}
	sort.SliceStable(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if c := tree.CompareTallies(t.Weight, b.Own(), a.Own()); c != 0 {
			return c < 0
		}
		return a.Path < b.Path
	})
	var lines []string
	for _, b := range found[:min(len(found), maxOthers)] {
		lines = append(lines, figures(b)+textfmt.Abridge(b.Path, MaxNameShown)+Describe(b))
	}
	if rest := len(found) - maxOthers; rest > 0 {
		lines = append(lines, fmt.Sprintf("%s… and %s", noFigures, textfmt.CountNoun(int64(rest), "path")+" more"))
	}
	return lines
}

// HeldBy says in words what the root of a branch is, where it is declared, and for goroutines where
// they come from.
func HeldBy(b *tree.Branch, env *environ.Environment) []string {
	root := b.Line()[0]
	info, where := root.Root, place(root, env)
	if isOfTestContext(b) {
		return []string{"held by the context of a test, t.Context(), which is cancelled when the test ends", untilTestEnds}
	}
	if i := slices.IndexFunc(b.Line(), isTestCleanup); i >= 0 && tree.IsTestFrame(info) {
		return []string{"held by " + cleanupText(b.Line()[i+1:]) + ", which t.Cleanup keeps until the test ends"}
	}
	switch info.Kind {
	case refscan.RootGlobal:
		return []string{"held by the package variable " + root.Name + where}
	case refscan.RootTimer:
		return []string{"held by the timer " + root.Name + DueText(info)}
	case refscan.RootFinalizer:
		return []string{"held by a finalizer (runtime.SetFinalizer): " + root.Name + where}
	case refscan.RootCleanup:
		return []string{"held by a cleanup (runtime.AddCleanup): " + root.Name + where}
	case refscan.RootFrame:
		return heldByFrame(root, env)
	case refscan.RootNative:
		by := "held by memory of C code: " + root.Name
		if root.Name == native.LostRoot {
			by = "no reference is left: lost"
		}
		return []string{by}
	}
	if root.IsMissed() {
		return []string{"held by nothing that a snapshot shows: the collector keeps them, but no path leads there, as to what a finalizer revives"}
	}
	if IsGoroutineRecord(root) {
		return []string{"held by the deferred calls of " + root.Name}
	}
	return []string{"held by " + root.Name + ", which is not a variable of the program"}
}

// place says where a root is declared: " (store.go:12)", or "".
func place(root *tree.Branch, env *environ.Environment) string {
	declared := Declaration(env, root)
	if p := env.Place(declared.File, declared.Line); p != "" {
		return " (" + p + ")"
	}
	return ""
}

const untilTestEnds = "its children stay until then, unless their cancel functions are called"

// IsContextVariable reports whether a root is a variable that refers to a *context.cancelCtx, which
// t.Context() returns, too. Such a variable is a shorter path to the context than package testing's
// own.
func IsContextVariable(root *tree.Branch) bool {
	return strings.TrimPrefix(root.Typ, "*") == "context.cancelCtx"
}

// isTestContext reports whether a branch is the context that the testing package made for a test
// (testing.common.ctx, go1.26 and go1.27 testing/testing.go).
func isTestContext(b *tree.Branch) bool {
	return b.Parent != nil && strings.TrimPrefix(b.Parent.Typ, "*") == "testing.T" && strings.HasSuffix(b.Name, "common.ctx")
}

// isTestCleanup reports whether a branch is one of the functions that the testing package runs at
// the end of a test (testing.common.cleanups, go1.26 and go1.27 testing/testing.go).
func isTestCleanup(b *tree.Branch) bool {
	return strings.HasSuffix(b.Path, "common.cleanups[*]") && symbol.Package(strings.TrimPrefix(b.Typ, "func ")) == "testing"
}

// cleanupText names the function that was registered with t.Cleanup, which testing wraps in a
// function of its own.
func cleanupText(below []*tree.Branch) string {
	if len(below) > 0 {
		if function, ok := strings.CutPrefix(below[0].Typ, "func "); ok && below[0].Name == "f" {
			return "the function " + textfmt.Abridge(strings.TrimSuffix(function, "-fm"), MaxNameShown)
		}
	}
	return "a function"
}

// DueText says when timers are due: ", due in 59m58s (120 pending)".
func DueText(info *refscan.RootInfo) string {
	s := ""
	second := func(d time.Duration) time.Duration { return max(d, 0).Round(time.Second) }
	switch first, last := second(info.DueFirst), second(info.DueLast); {
	case info.DueFirst == 0 && info.DueLast == 0:
	case first == last:
		s = ", due in " + last.String()
	default:
		s = fmt.Sprintf(", due in %s to %s", first, last)
	}
	if info.Period > 0 {
		s += ", every " + info.Period.String()
	}
	if info.Timers > 1 {
		s += fmt.Sprintf(" (%s pending)", textfmt.Count(info.Timers))
	}
	return s
}

// holdsChannels reports whether all that a root holds directly is channels.
func holdsChannels(root *tree.Branch) bool {
	if strings.HasPrefix(root.Typ, "chan ") {
		return true
	}
	for _, child := range root.Children {
		if !strings.HasPrefix(child.Typ, "chan ") {
			return false
		}
	}
	return len(root.Children) > 0
}

// holdsMapTables reports whether tables of a map, or groups of its entries, hang on the root
// itself: the map's header lies on the stack, where the compiler leaves it without a name.
func holdsMapTables(root *tree.Branch) bool {
	for _, child := range root.Children {
		typ := strings.TrimLeft(child.Typ, "*[]")
		typ = strings.TrimPrefix(typ, "noalg.")
		if strings.HasPrefix(typ, "map.group[") || strings.HasPrefix(typ, "map.table[") {
			return true
		}
	}
	return false
}

// isOfTestContext reports whether the context of a test leads to a branch.
func isOfTestContext(b *tree.Branch) bool {
	return tree.IsTestFrame(b.Line()[0].Root) && slices.ContainsFunc(b.Line(), isTestContext)
}

// HeldByTest returns the variable of a test function that holds a branch, with its place. It
// returns "" if HeldBy says something else: that a context, a function of t.Cleanup or the caller's
// own variable holds it.
func HeldByTest(b *tree.Branch, env *environ.Environment) string {
	root := b.Line()[0]
	info := root.Root
	if info.Kind != refscan.RootFrame || !info.Test || info.Caller || isOfTestContext(b) ||
		tree.IsTestFrame(info) && (IsContextVariable(root) || slices.ContainsFunc(b.Line(), isTestCleanup)) {
		return ""
	}
	return frameVariable(root, env)
}

// frameVariable says which variable a frame root is, and where it is declared.
func frameVariable(root *tree.Branch, env *environ.Environment) string {
	info, where := root.Root, place(root, env)
	variable := nameInFrame(root.Name, symbol.Unescape(info.Func))
	if isTemporary(root) {
		function, isFunction := strings.CutPrefix(root.Typ, "func ")
		in := symbol.Unescape(info.Func) + where
		switch {
		case isFunction:
			variable = "the function " + textfmt.Abridge(function, MaxNameShown) + ", which " + in + " has deferred or passes on"
		case holdsMapTables(root):
			variable = "a map of " + in + " (one that never leaves its function has no name on the stack)"
		case holdsChannels(root):
			variable = "a channel that " + in + " waits for (no variable has it any more)"
		default:
			variable = "a temporary value of " + in + ", such as what a deferred call or a closure refers to"
		}
		where = ""
	}
	return variable + where
}

func heldByFrame(root *tree.Branch, env *environ.Environment) []string {
	info, variable := root.Root, frameVariable(root, env)
	switch {
	case tree.IsTestFrame(info) && IsContextVariable(root):
		return []string{
			"held by a context of a test function that is still running: " + variable,
			"if it is t.Context(), it is cancelled when the test ends; " + untilTestEnds,
		}
	case info.Caller:
		return []string{
			"held by your test itself: " + variable,
			"it is used after this assertion, so it is still alive: assert after its last use, or use it in a function of its own",
		}
	case info.Test:
		return []string{
			"held by a test function that is still running: " + variable,
			"tests that run at the same time share one process: narrow the assertion with Scope or Since, or run this test alone",
		}
	}
	lines := []string{"held by " + variable}
	from := "in a goroutine"
	if info.Goroutines > 1 {
		from = "in " + textfmt.CountNoun(info.Goroutines, "goroutine")
	}
	if info.Goroutine != "" && info.Goroutine != info.Func {
		from += " started in " + symbol.Unescape(info.Goroutine)
	}
	if info.CreatedBy != "" {
		from += ", created by " + symbol.Unescape(info.CreatedBy)
		if at := env.PlaceOf(info.CreatedAt); at != "" {
			from += " (" + at + ")"
		}
	}
	return append(lines, from)
}

// nameInFrame says which variable of which function a frame root is. A variable of an inlined
// function carries the name of that function, not of the function in whose frame it is.
func nameInFrame(root, function string) string {
	if function == "" {
		return "the variable " + root
	}
	if variable, ok := strings.CutPrefix(root, function+"."); ok {
		return stackName(variable) + " of " + function
	}
	dot := strings.LastIndexByte(root, '.')
	if dot < 0 {
		return "the variable " + root + " of " + function
	}
	variable := stackName(root[dot+1:]) + " of " + root[:dot]
	if strings.Contains(function, ".gowrap") {
		// the compiler's own, around the call of a go statement
		return variable
	}
	return variable + ", inlined in " + function
}

// stackName says which part of a frame has a given name in reports; some parts have no name in the
// source.
func stackName(variable string) string {
	switch variable {
	case symbol.Deferred:
		return "a deferred call"
	}
	return "the variable " + variable
}
