// Package verdict is the record that one assertion of a test binary leaves for the leakgate
// command: the assertion, its outcome, and the artifacts beside the record.
//
// A record is the file result.json in a directory of its own below LEAKGATE_ARTIFACTS:
//
//	<import path, "/" kept>/<Test>/<sub>/<n>/result.json
//
// where n counts the assertions of that test from 1. Paths in it are relative to that directory.
//
// The package also has what the command answers to a test that asks about calls of C code.
package verdict

// Schema is the version of the record's form.
const Schema = 2

// FileName is the name of the record's file.
const FileName = "result.json"

// DefaultMax is the value of envvar.ArtifactsMax where it is not set.
const DefaultMax = 20

// Verdict is the outcome of an assertion. The three are never merged.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"    // a bound is broken
	Unknown Verdict = "unknown" // could not tell
)

// Method is the way in which an assertion passed.
type Method string

// The methods.
const (
	InFull     Method = "in full"     // snapshots, each scanned as a whole
	ByCounters Method = "by counters" // the allocator's, read after garbage collections
	ByReach    Method = "by reach"    // of variables: all that they lead to is within their bounds
	ByTypes    Method = "by types"    // and of types: no more objects can be of a type than its bounds allow
)

// Kind says what a bound is about.
type Kind string

// The kinds.
const (
	Retained  Kind = "retained"  // what is alive: objects, goroutines, stacks
	Resources Kind = "resources" // what the operating system, or C's malloc, holds for the process
	Growth    Kind = "growth"    // what grows with each call
	Allocs    Kind = "allocs"    // what a call allocates
	Peak      Kind = "peak"      // what is alive while a call runs
	Collected Kind = "collected" // an object that should be garbage
)

// Result is one assertion of one run of a test.
type Result struct {
	Schema  int     `json:"schema"`
	Library string  `json:"library,omitempty"` // version of leakcheck, if it is a released one
	Package string  `json:"package"`           // import path
	Test    string  `json:"test"`              // t.Name(), or "TestMain"
	Seq     int     `json:"seq"`               // nth assertion of that test, from 1
	Verdict Verdict `json:"verdict"`
	Method  Method  `json:"method,omitempty"` // pass: by which way
	Cause   string  `json:"cause,omitempty"`  // unknown: why
	Remedy  string  `json:"remedy,omitempty"` // unknown: the way out
	File    string  `json:"file,omitempty"`   // of the assertion
	Line    int     `json:"line,omitempty"`
	Message string  `json:"message,omitempty"` // what the test printed
	// fail: the assertion itself is wrong, such as a root that does not exist
	Misuse bool `json:"misuse,omitempty"`

	// Modules are the paths of the program's modules that have no dot in their first element
	// ("shop"), and of its packages with a dot in the last one ("gopkg.in/yaml.v3"). Nothing else
	// tells the former from the standard library, and where the latter end in a name.
	Modules []string `json:"modules,omitempty"`

	Bounds []Bound `json:"bounds,omitempty"` // those asserted, in order
	Golden *Golden `json:"golden,omitempty"` // set in golden mode

	Totals Totals `json:"totals"`
	// of the baseline; 0: there is none
	LiveBefore int64 `json:"live_before_bytes,omitempty"`
	// within the assertion's scope
	RetainedObjects int64 `json:"retained_objects"`
	RetainedBytes   int64 `json:"retained_bytes"`
	SettleNS        int64 `json:"settle_ns"`
	PauseNS         int64 `json:"pause_ns"`
	ScanNS          int64 `json:"scan_ns"`

	// kind ("retained", "heap", "report", ...) to file name
	Artifacts map[string]string `json:"artifacts,omitempty"`
}

// Bound is one asserted bound and what was found.
type Bound struct {
	Kind Kind `json:"kind"`
	// as it was written: Root("example.com/app.sessions")
	Selector   string  `json:"selector"`
	MaxObjects *int64  `json:"max_objects,omitempty"` // nil: not bounded
	MaxBytes   *int64  `json:"max_bytes,omitempty"`
	Objects    int64   `json:"objects"` // found; with ByReach and ByTypes, no more than these
	Bytes      int64   `json:"bytes"`
	Verdict    Verdict `json:"verdict"`
	// of AssertNoGrowth: "+1.00 *app.Session/op (+424 B/op)"; of AssertAllocs: "2.00 allocs/op (96
	// B/op), at most 1 allowed", and Objects and Bytes are those of one call; of AssertPeak: "+6.0
	// MiB alive while op ran, at most 1.0 MiB allowed"
	Growth string `json:"growth,omitempty"`
	// the same as a number, of objects, entries, bytes, goroutines, frames or resources
	PerCall float64 `json:"per_call,omitempty"`
	// of leakgate run -auto: equal for the same leak, whichever test shows it
	Cause string `json:"cause,omitempty"`
	// of AssertNoGrowth: resources of the operating system that grow, with or without memory
	Resources []Resource `json:"resources,omitempty"`
	// of AssertNoGrowth: what holds that growth
	Holder *Holder `json:"holder,omitempty"`
	// What cutting one match would free, where that is bounded: the largest over all matches, with
	// native memory if the bound counts that.
	MaxRetainedObjects *int64 `json:"max_retained_objects,omitempty"`
	MaxRetainedBytes   *int64 `json:"max_retained_bytes,omitempty"`
	RetainedObjects    int64  `json:"retained_objects,omitempty"`
	RetainedBytes      int64  `json:"retained_bytes,omitempty"`

	// What the bounded variable or path leads to and does not hold, if it would be more than the
	// bound: "1,002 objects, 89.2 KiB that example.com/app.srv is nearer to".
	Beyond string `json:"beyond,omitempty"`

	// of a bound that is broken: in words, who holds the largest culprit, which references lead to
	// it, and, with some of the objects by what is in them, who else holds it
	HeldBy     []string `json:"held_by,omitempty"`
	Chain      []Link   `json:"chain,omitempty"`
	AlsoHeldBy []string `json:"also_held_by,omitempty"`

	Path string `json:"path,omitempty"` // of the largest culprit
	Type string `json:"type,omitempty"` // of what lies there
	File string `json:"file,omitempty"` // where its root is declared
	Line int    `json:"line,omitempty"`
}

// Link is a reference on the way from a root, which is the first one, to what is retained. Figures
// are those of the objects that it leads to, without what these refer to.
type Link struct {
	Name    string `json:"name"`            // the root's, a field's, "[*]"
	About   string `json:"about,omitempty"` // type, and remarks: "map[string]*app.Session, 100 entries"
	Objects int64  `json:"objects,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	Suspect bool   `json:"suspect,omitempty"` // it, or another one that is marked, should have been dropped
	Back    bool   `json:"back,omitempty"`    // it leads from one object of the link before to the next
}

// Line returns the link as messages have it.
func (l *Link) Line() string {
	if l.About == "" || l.About[0] == ',' || l.About[0] == ' ' {
		return l.Name + l.About
	}
	return l.Name + "  " + l.About
}

// Resource is a kind of thing that the operating system holds for the process, and whose number or
// bytes grow.
type Resource struct {
	// "process", "descriptor", "thread", "native", "native bytes" (both of C's malloc), "mapping",
	// "stack", "file", "variable"
	Kind string `json:"kind"`
	// what it is: "socket to 127.0.0.1:5432", "/tmp/x", a command's name
	Name   string `json:"name"`
	State  string `json:"state,omitempty"`  // that most of them are in: "ESTABLISHED"
	Growth string `json:"growth,omitempty"` // "+1.00 fd/op: socket to 127.0.0.1:5432 (ESTABLISHED)"
	Added  int64  `json:"added"`            // number, or bytes
	// the path of the Go objects that stand for them, if there are any
	Holder string `json:"holder,omitempty"`
}

// Holder is what holds something that grows: a root, or goroutines that pile up.
type Holder struct {
	// "goroutine", or the kind of root: "global", "frame", "timer", "finalizer", "cleanup",
	// "other"; "resource" where nothing in Go holds it
	Kind string `json:"kind"`
	Root string `json:"root"` // the root's name, or the goroutines' function
	// in words, as in messages: "held by the package variable app.sessions (app.go:12)"; "" for
	// goroutines
	Text string `json:"text,omitempty"`
	// import path of the package that declares the variable or function
	Package string `json:"package,omitempty"`
	Type    string `json:"type,omitempty"` // of the variable
	// a variable of the test's own, or what the repeated operation refers to
	Test bool `json:"test,omitempty"`
	// of goroutines: file:line of their function, as the compiler recorded it; the function with
	// the go statement; file:line of that statement. Of resources that nothing in Go holds: the
	// program's function that made them; file:line of its call
	At         string `json:"at,omitempty"`
	CreatedBy  string `json:"created_by,omitempty"`
	CreatedAt  string `json:"created_at,omitempty"`
	Goroutines int64  `json:"goroutines,omitempty"` // of a frame's variable: how many goroutines have it
	// of goroutines: the types of variables that keep something alive
	Holds []string `json:"holds,omitempty"`
	// of goroutines: the outermost calls on their stacks, as far as all of them have the same
	Runs []Call `json:"runs,omitempty"`
	// the program's calls on the stack that made what grows, innermost first, and what grows the
	// container that it is an element of; nil: not known
	Made   []Call `json:"made,omitempty"`
	Filled []Call `json:"filled,omitempty"`
	// the type of that container
	Container string `json:"container,omitempty"`
	State     string `json:"state,omitempty"` // of goroutines: what they wait for, as in a stack trace
	Cause     string `json:"cause,omitempty"` // the usual mistake that such growth has; "": not known
	// import paths of packages whose types lie on the path to what grows, from the root on
	Packages []string `json:"packages,omitempty"`
	// the named types on that path, what grows included: "example.com/app.Session"
	Types []string `json:"types,omitempty"`
	// those of the types of objects above what grows, and of no slices or maps of them
	Within []string `json:"within,omitempty"`

	// Also holds most of the objects that grow, too; it has a path to them, and the file and line
	// of its root.
	Also *Holder `json:"also,omitempty"`
	Path string  `json:"path,omitempty"`
	File string  `json:"file,omitempty"`
	Line int     `json:"line,omitempty"`
}

// Call is a call on a stack: the function, by the name that the linker knows, and the file:line
// that it has come to.
type Call struct {
	Function string `json:"function"`
	At       string `json:"at"`
	// the function that it calls, where At may be the line of the statement after that call: the
	// stack was taken by return addresses; "" otherwise
	Calls string `json:"calls,omitempty"`
}

// MaxBroken is how many lines of a golden file a record has at most.
const MaxBroken = 50

// Golden is the outcome of a comparison with a golden file.
type Golden struct {
	File string `json:"file"` // relative to the package's folder
	// "match", "mismatch", "missing", "created", "updated", "measured"
	Status string `json:"status"`
	Diff   string `json:"diff,omitempty"`

	// lines that do not hold, and paths that have no line: at most MaxBroken
	Broken []Bound `json:"broken,omitempty"`

	// Tighter is a stricter text for the file, if less is retained than the file allows and nothing
	// exceeds it.
	Tighter string `json:"tighter,omitempty"`
}

// Totals is the audit of a scan, a refscan.Totals.
type Totals struct {
	LiveObjects       int64 `json:"live_objects"`
	LiveBytes         int64 `json:"live_bytes"`
	AttributedObjects int64 `json:"attributed_objects"`
	AttributedBytes   int64 `json:"attributed_bytes"`
	TypedBytes        int64 `json:"typed_bytes"`
	MissedObjects     int64 `json:"missed_objects"`
	MissedBytes       int64 `json:"missed_bytes"`
	ExtraBytes        int64 `json:"extra_bytes"`
}
