package tree

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/goversion"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// A Retainer is a variable or field of the standard library that keeps something on purpose. What
// hangs on it is no finding of a bound on a type, and no growth if it grows with use, as long as it
// consists of the library's own types. It is logged instead: see kept.
type Retainer struct {
	// Path is that of a package variable, or of a field below one, with elements folded.
	Path string
	// self is set where only the memory at the path itself counts, not what lies below.
	self bool
	// RuntimeTypes is set where only the runtime's own types may hang there, and predeclared ones:
	// what is of another type was put there by somebody else.
	RuntimeTypes bool
	Reason       string
	Since, Until int // minor Go versions in which it was seen to be so

	// grows: with use, so that growth is no finding either. What is made once does not: a chain of
	// writers that gets longer with each call is a leak, though the default logger holds it.
	Grows bool
}

const (
	keptForNextRequest = "a Transport keeps connections for the next request"
	recordOfAddresses  = "a Transport keeps a record of each address that it was asked for"
	goroutineList      = "the runtime keeps what it knew of a goroutine that has ended for the next one; goroutines are counted by themselves"
	threadList         = "the runtime's records of threads, and of what they wait for"
	madeAtStart        = "made when the program starts"
)

// What is held or grows though the program did nothing wrong, as seen in the programs of
// examples/corpus, one entry for each variable or field; TestRetainersExist sees them all. Sources:
// go1.26 and go1.27, runtime/runtime2.go, net/http/transport.go, syscall/env_unix.go,
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
	{Path: "runtime.(timers)", RuntimeTypes: true, Reason: "the lists of pending timers, which are roots of their own", Since: 26, Until: 27, Grows: true},
	{Path: "runtime.allm", RuntimeTypes: true, Reason: threadList, Since: 26, Until: 27, Grows: true},
	{Path: "runtime.m0", RuntimeTypes: true, Reason: threadList, Since: 26, Until: 27, Grows: true},
	{Path: "runtime.sched", RuntimeTypes: true, Reason: threadList, Since: 26, Until: 27, Grows: true},
	{Path: "runtime.itabTable", RuntimeTypes: true, Reason: "a table of pairs of an interface and a type that met", Since: 26, Until: 27, Grows: true},
	{Path: CompilerCache, Reason: "a cache that the compiler makes for a type switch or assertion, of at most one entry a type", Since: 26, Until: 27, Grows: true},
	{Path: TinyGaps, Reason: "gaps between values under 16 bytes, which share blocks", Since: 26, Until: 27, Grows: true},

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
	// CompilerCache stands for the roots of isCompilerCache.
	CompilerCache = "..typeAssert"
	// TinyGaps is the root of bytes that no object has.
	TinyGaps = "runtime.(gaps of the tiny allocator)"
)

// RetainerOf returns the retainer that a branch hangs on. There is none if a type of the program or
// of a module is on the way, since then the program has put it there, or if the Go version is
// another one.
func RetainerOf(e *environ.Environment, b *Branch) *Retainer {
	// Whoever started the goroutine, asked for the timer or set the finalizer is to blame for what
	// those hold.
	if kind := b.Root.Kind; kind != refscan.RootGlobal && kind != refscan.RootOther {
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

// hasTypes reports whether all types on the way to a branch are the standard library's, or even the
// runtime's.
func hasTypes(e *environ.Environment, b *Branch, runtimeTypes bool) bool {
	for _, above := range b.Line() {
		// a root without a type, such as runtime.(timers)
		isList := above.Parent == nil && above.Objects == 0
		if e.MentionsProgram(above.Typ) || runtimeTypes && !isRuntimeType(above.Typ) && !isList {
			return false
		}
	}
	return true
}

// has reports whether a branch lies where the retainer is.
func (r *Retainer) has(b *Branch) bool {
	switch {
	case r.Path == CompilerCache:
		return IsCompilerCache(b.Path)
	case r.self:
		return b.Path == r.Path
	}
	return beginsWith(b.Path, r.Path)
}

// isRuntimeType reports whether a type is known, and is one of the runtime's, a predeclared one, or
// made of those.
func isRuntimeType(typ string) bool {
	for pkg := range naming.NamedTypes(typ) {
		if !symbol.IsRuntime(pkg) {
			return false
		}
	}
	return typ != ""
}

func InVersions(e *environ.Environment, since, until int) bool {
	minor, ok := goversion.Minor(runtime.Version())
	return ok && since <= minor && minor <= until
}

// testCleanups is the field for functions registered with Cleanup.
const testCleanups = "cleanups"

// testingRecords are fields of what package testing has for a test: *testing.T, B and F with what
// is embedded there, and the state that they share. They go when the test is over (go1.26 and
// go1.27 testing/testing.go, testing/match.go). What hangs on the test's context is none of
// testing's: whoever made it is to end it.
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

// TestingRecordOf returns the record of package testing that a branch is, or hangs on. There is
// none if a type of the program is on the way to what testing has for the test: that is kept by the
// program, then. Nor is what hangs on a function registered with Cleanup a record: what grows there
// is an object of the program's, which the function refers to because it is to close it.
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

// testingRecord returns the record that the path of a field leads to, or through.
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

// isRuntime reports whether it is the runtime that keeps this for itself, whatever the program
// does.
func (r *Retainer) isRuntime() bool {
	return r.RuntimeTypes || r.Path == CompilerCache || r.Path == TinyGaps
}

// NotesOf says what was hidden. What the runtime keeps for itself grows a little all the time, so
// it has one line, and none where no objects are more: its arrays and the gaps between small values
// are as large as what they are for, which counts by itself.
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

// KeptOnPurpose takes out of branches what retainers hold.
func KeptOnPurpose(e *environ.Environment, branches []*Branch) (rest []*Branch, hidden []Kept) {
	return Hide(branches, func(b *Branch) *Retainer { return RetainerOf(e, b) })
}

// Hide takes branches out that hang on a retainer, and sums up what each of those has.
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
