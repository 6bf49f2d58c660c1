package tree

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// A Retainer is a variable or field of the standard library that keeps objects on purpose. Objects
// of the library's own types that hang on it do not count for a bound on a type, and are no growth
// if Grows is set. They are logged instead: see Kept.
type Retainer struct {
	// Path is the path of a package variable, or of a field below one, with elements folded.
	Path string
	// self is set if only the object at the path itself counts, not what lies below.
	self bool
	// RuntimeTypes is set if only the runtime's own types, and predeclared ones, may hang there:
	// other code put an object of any other type there.
	RuntimeTypes bool
	Reason       string
	Since, Until int // first and last minor Go version in which the entry was seen to hold

	// Grows is set if the objects become more with use, so that growth is no finding either. It is
	// not set for objects that are made once: a chain of writers that gets longer with each call is
	// a leak, though the default logger holds it.
	Grows bool
}

const (
	keptForNextRequest = "a Transport keeps connections for the next request"
	recordOfAddresses  = "a Transport keeps a record of each address that it was asked for"
	goroutineList      = "the runtime keeps what it knew of a goroutine that has ended for the next one; goroutines are counted by themselves"
	threadList         = "the runtime's records of threads, and of what they wait for"
	madeAtStart        = "made when the program starts"
)

// Retainers has an entry for each variable or field that holds objects or grows though the program
// did nothing wrong, as seen in the programs of examples/corpus; TestRetainersExist sees them all.
// Sources: go1.26 and go1.27, runtime/runtime2.go, net/http/transport.go, syscall/env_unix.go,
// unique/handle.go.
var Retainers = []Retainer{
	{Path: "net/http.DefaultTransport.idleConn", Reason: keptForNextRequest, Since: 26, Until: 27, Grows: true},
	{Path: "net/http.DefaultTransport.idleLRU", Reason: keptForNextRequest, Since: 26, Until: 27, Grows: true},
	{Path: "net/http.DefaultTransport.idleConnWait", Reason: recordOfAddresses, Since: 26, Until: 27, Grows: true},
	{Path: "net/http.DefaultTransport.connsPerHost", Reason: recordOfAddresses, Since: 26, Until: 27, Grows: true},
	{Path: "net/http.DefaultTransport.connsPerHostWait", Reason: recordOfAddresses, Since: 26, Until: 27, Grows: true},
	{Path: "syscall.envs", self: true, Reason: "a slot for each variable of the environment that is set again after it was unset", Since: 26, Until: 27, Grows: true},
	{Path: "unique.uniqueMaps", Reason: "the table of unique values, which go when nobody has their handles", Since: 26, Until: 27, Grows: true},

	{Path: "runtime.allgs", RuntimeTypes: true, Reason: goroutineList, Since: 26, Until: 27, Grows: true},
	{Path: "runtime.allgptr", RuntimeTypes: true, Reason: goroutineList, Since: 26, Until: 27, Grows: true},
	{Path: "runtime.allp", RuntimeTypes: true, Reason: "what processors have at hand for the next wait, deferred call or timer", Since: 26, Until: 27, Grows: true},
	{Path: symbol.TimerHeaps, RuntimeTypes: true, Reason: "the lists of pending timers, which are roots of their own", Since: 26, Until: 27, Grows: true},
	{Path: "runtime.allm", RuntimeTypes: true, Reason: threadList, Since: 26, Until: 27, Grows: true},
	{Path: "runtime.m0", RuntimeTypes: true, Reason: threadList, Since: 26, Until: 27, Grows: true},
	{Path: "runtime.sched", RuntimeTypes: true, Reason: threadList, Since: 26, Until: 27, Grows: true},
	{Path: "runtime.itabTable", RuntimeTypes: true, Reason: "a table of pairs of an interface and a type that met", Since: 26, Until: 27, Grows: true},
	{Path: "runtime.gcBgMarkWorker", Reason: "a worker of the garbage collector, one for each processor", Since: 26, Until: 27, Grows: true},
	{Path: CompilerCache, Reason: "a cache that the compiler makes for a type switch or assertion, of at most one entry a type", Since: 26, Until: 27, Grows: true},
	{Path: symbol.TinyGaps, Reason: "gaps between values under 16 bytes, which share blocks", Since: 26, Until: 27, Grows: true},

	{Path: "runtime.(timers).heap[*].timer", Reason: "a timer that was stopped; pending ones are roots of their own", Since: 26, Until: 27},
	{Path: "runtime.argslice", Reason: madeAtStart, Since: 26, Until: 27},
	{Path: "runtime.envs", Reason: madeAtStart, Since: 26, Until: 27},
	{Path: "runtime.main_init_done", Reason: madeAtStart, Since: 26, Until: 26},
	{Path: "os.Stdin", Reason: "the process's standard streams", Since: 26, Until: 27},
	{Path: "os.Stdout", Reason: "the process's standard streams", Since: 26, Until: 27},
	{Path: "os.Stderr", Reason: "the process's standard streams", Since: 26, Until: 27},
	{Path: "log.std", Reason: "the default logger", Since: 26, Until: 27},
	{Path: "log/slog.defaultLogger", Reason: "the default logger", Since: 26, Until: 27},
	{Path: "net.resolvConf", Reason: "the resolver's configuration, loaded once", Since: 26, Until: 27},
	{Path: "crypto/x509.systemRoots", Reason: "the system's root certificates, loaded once", Since: 26, Until: 27},
	{Path: "time.localLoc", Reason: "the local time zone, loaded once", Since: 26, Until: 27},
}

const (
	// CompilerCache stands for the roots for which symbol.IsCompilerCache returns true.
	CompilerCache = "..typeAssert"
)

// RetainerOf returns the retainer that a branch hangs on. It returns nil if a type of the program
// or of a module is on the path, since the program has put the object there. It also returns nil if
// the entry is not for this Go version.
func RetainerOf(e *environ.Environment, b *Branch) *Retainer {
	// A goroutine, timer or finalizer is no retainer, unless the runtime has made it: the code that
	// made it is responsible for what it holds.
	if kind := b.Root.Kind; kind != refscan.RootGlobal && kind != refscan.RootOther && !symbol.IsRuntime(b.Root.Package) {
		return nil
	}
	for i := range Retainers {
		r := &Retainers[i]
		if r.has(b) && InVersions(e, r.Since, r.Until) && hasTypes(e, b, r.RuntimeTypes) {
			return r
		}
	}
	return nil
}

// MayBeKept reports whether a path is one at which the standard library keeps objects on purpose.
func MayBeKept(path string, info *refscan.RootInfo) bool {
	if info.Kind != refscan.RootGlobal {
		return false
	}
	for i := range Retainers {
		if r := &Retainers[i]; !r.RuntimeTypes && beginsWith(path, r.Path) {
			return true
		}
	}
	return false
}

// hasTypes reports whether all types on the path to a branch are the standard library's or, if
// runtimeTypes is set, the runtime's.
func hasTypes(e *environ.Environment, b *Branch, runtimeTypes bool) bool {
	for _, above := range b.Line() {
		// a root without a type, such as runtime.(timers)
		isList := above.Parent == nil && above.Objects == 0
		if e.MentionsProgram(above.Typ) || runtimeTypes && !symbol.IsRuntimeType(above.Typ) && !isList {
			return false
		}
	}
	return true
}

// has reports whether a branch is at the path of the retainer or, unless self is set, below it.
func (r *Retainer) has(b *Branch) bool {
	switch {
	case r.Path == CompilerCache:
		return symbol.IsCompilerCache(b.Path)
	case r.self:
		return b.Path == r.Path
	}
	return beginsWith(b.Path, r.Path)
}

func InVersions(e *environ.Environment, since, until int) bool {
	minor, ok := symbol.GoMinor(runtime.Version())
	return ok && since <= minor && minor <= until
}

// testCleanups is the field for functions registered with Cleanup.
const testCleanups = "cleanups"

// testingRecords are fields of what package testing has for a test: *testing.T, B and F, the
// structs embedded there, and the state that tests share. They go when the test is over (go1.26 and
// go1.27 testing/testing.go, testing/match.go). Objects that hang on the test's context are not
// testing's: the code that made them has to end them.
var testingRecords = []Retainer{
	{Path: "output", Reason: "what the test logged"},
	{Path: "o", Reason: "what the test logged"},
	{Path: "w", Reason: "what the test logged"},
	{Path: "chatty", Reason: "what the test logged"},
	{Path: "helperPCs", Reason: "the functions that called Helper"},
	{Path: "helperNames", Reason: "the functions that called Helper"},
	{Path: testCleanups, Reason: "functions registered with Cleanup"},
	{Path: "sub", Reason: "subtests that wait for their parent"},
	{Path: "parent", Reason: "the test above"},
	{Path: "tstate", Reason: "names of subtests"},
}

// TestingRecordOf returns the record of package testing that a branch is, or hangs on. It returns
// nil if a type of the program is on the path to testing's own struct: the program keeps that
// struct, then. It also returns nil for what hangs on a function registered with Cleanup: what
// grows there is an object of the program, which the function refers to because it is to close it.
func TestingRecordOf(e *environ.Environment, b *Branch) *Retainer {
	path := b.Path
	for ; b.Parent != nil; b = b.Parent {
		if symbol.Package(strings.TrimLeft(b.Parent.Typ, "*")) != "testing" {
			continue
		}
		field := strings.TrimPrefix(strings.TrimPrefix(path[len(b.Parent.Path):], "."), "common.")
		if beginsWith(field, "ctx") {
			return nil
		}
		r := testingRecord(field)
		if r == nil {
			continue
		}
		if r.Path == testCleanups && field != testCleanups && field != testCleanups+"[*]" {
			return nil
		}
		for _, above := range b.Parent.Line() {
			if e.MentionsProgram(above.Typ) {
				return nil
			}
		}
		return r
	}
	return nil
}

// testingRecord returns the record that a field's path is, or begins with.
func testingRecord(field string) *Retainer {
	for i := range testingRecords {
		if r := &testingRecords[i]; beginsWith(field, r.Path) {
			return r
		}
	}
	return nil
}

func beginsWith(path, start string) bool {
	return strings.HasPrefix(path, start) && naming.AtBoundary(path, len(start))
}

// A Kept sums up the objects that one retainer excludes from judgement.
type Kept struct {
	*Retainer
	Tally
	Path string // of the first branch
}

func (k Kept) String() string {
	return fmt.Sprintf("kept on purpose, not counted: %s, %s at %s (%s)", textfmt.CountNoun(k.Objects, "object"), textfmt.ByteCount(k.Bytes), k.Path, k.Reason)
}

// isRuntime reports whether the runtime keeps these objects for itself, whatever the program does.
func (r *Retainer) isRuntime() bool {
	return r.Path == CompilerCache || strings.HasPrefix(r.Path, "runtime.")
}

// NotesOf returns notes for the log on what was hidden. The objects that the runtime keeps for
// itself grow a little all the time, so they share one note. A retainer of the runtime's without
// objects is left out: its bytes are arrays of the runtime and gaps between small values, which
// grow with objects that are counted elsewhere.
func NotesOf(hidden []Kept) []string {
	var notes, places []string
	var runtimes Tally
	for _, k := range hidden {
		if k.isRuntime() && k.Objects == 0 {
			continue
		}
		if k.isRuntime() {
			runtimes = runtimes.Plus(k.Tally)
			places = append(places, fmt.Sprintf("%s (%s)", k.Path, k.Reason))
			continue
		}
		notes = append(notes, k.String())
	}
	slices.Sort(notes)
	if len(places) > 0 {
		slices.Sort(places)
		notes = append(notes, fmt.Sprintf("the runtime's own, not counted: %s, %s at %s",
			textfmt.CountNoun(runtimes.Objects, "object"), textfmt.ByteCount(runtimes.Bytes), strings.Join(places, ", ")))
	}
	return notes
}

// KeptOnPurpose removes the branches that hang on a retainer, and sums them up.
func KeptOnPurpose(e *environ.Environment, branches []*Branch) (rest []*Branch, hidden []Kept) {
	return Hide(branches, func(b *Branch) *Retainer { return RetainerOf(e, b) })
}

// Hide removes the branches that hang on a retainer, and sums them up for each retainer.
func Hide(branches []*Branch, retainerOf func(*Branch) *Retainer) (rest []*Branch, hidden []Kept) {
	for _, b := range branches {
		r := retainerOf(b)
		if r == nil {
			rest = append(rest, b)
			continue
		}
		i := 0
		for i < len(hidden) && hidden[i].Retainer != r {
			i++
		}
		if i == len(hidden) {
			hidden = append(hidden, Kept{Retainer: r, Path: b.Path})
		}
		hidden[i].Tally = hidden[i].Plus(b.Own())
	}
	return rest, hidden
}
