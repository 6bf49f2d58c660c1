package leakcheck

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/leakgate/leakgate/refscan"
)

// A retainer is what the standard library keeps on purpose. What hangs on it is no finding of a bound on a
// type, and no growth if it grows with use, as long as it consists of the library's own types; it is logged instead.
type retainer struct {
	root         string // a package variable; a package; or, ending with "/", packages below
	reason       string
	since, until int // minor Go versions in which it was seen to be so

	// grows: with use, so that growth is no finding either. What is made once does not: a chain of writers that gets longer
	// with each call is a leak, though the default logger holds it.
	grows bool
}

var retainers = []retainer{
	{"runtime", "the runtime's own records", 26, 27, true},
	{"internal/", "the runtime's own records", 26, 27, true},
	{"os.Stdin", "the process's standard streams", 26, 27, false},
	{"os.Stdout", "the process's standard streams", 26, 27, false},
	{"os.Stderr", "the process's standard streams", 26, 27, false},
	{"testing", "the testing package's state, which goes when the tests are over", 26, 27, true},
	{"log.std", "the default logger", 26, 27, false},
	{"log/slog.defaultLogger", "the default logger", 26, 27, false},
	{"net/http.DefaultTransport", "a Transport keeps connections for the next request, and a record of each address it was asked for", 26, 27, true},
	{"net.resolvConf", "the resolver's configuration, loaded once", 26, 27, false},
	{"crypto/x509.systemRoots", "the system's root certificates, loaded once", 26, 27, false},
	{"unique.uniqueMaps", "the table of unique values, which go when nobody has their handles", 26, 27, true},
	{"time.localLoc", "the local time zone, loaded once", 26, 27, false},
}

// retainerOf returns the retainer that a branch hangs on. There is none if a type of the program or of a module is
// on the way, since then the program has put it there, or if the Go version is another one.
func (e *environment) retainerOf(b *branch) *retainer {
	root := b.line()[0]
	for i := range retainers {
		r := &retainers[i]
		if !r.is(root) || !e.inVersions(r.since, r.until) {
			continue
		}
		for _, above := range b.line() {
			if e.mentionsProgram(above.typ) {
				return nil
			}
		}
		return r
	}
	return nil
}

func (r *retainer) is(root *branch) bool {
	info := root.root
	switch {
	case info.Kind == refscan.RootFrame || info.Kind == refscan.RootFinalizer || info.Kind == refscan.RootCleanup:
		// Whoever started the goroutine, or set the finalizer, is to blame.
		return false
	case strings.HasSuffix(r.root, "/"):
		return strings.HasPrefix(info.Package, r.root)
	}
	return r.root == info.Package || r.root == root.name
}

func (e *environment) inVersions(since, until int) bool {
	_, rest, _ := strings.Cut(runtime.Version(), "go1.")
	digits := strings.IndexFunc(rest+".", func(r rune) bool { return r < '0' || r > '9' })
	minor, err := strconv.Atoi(rest[:digits])
	return err == nil && since <= minor && minor <= until
}

// isRuntime reports whether a retainer is the runtime, which has records of everything that goes on: they are not worth a
// word.
func (r *retainer) isRuntime() bool { return r.root == "runtime" || r.root == "internal/" }

// A kept is what one retainer hides.
type kept struct {
	*retainer
	tally
	path string // of the first branch
}

func (k kept) String() string {
	return fmt.Sprintf("kept on purpose, not counted: %s, %s at %s (%s)", countNoun(k.objects, "object"), byteCount(k.bytes), k.path, k.reason)
}

// keptOnPurpose takes out of branches what retainers hold.
func (e *environment) keptOnPurpose(branches []*branch) (rest []*branch, hidden []kept) {
	for _, b := range branches {
		r := e.retainerOf(b)
		if r == nil {
			rest = append(rest, b)
			continue
		}
		if r.isRuntime() {
			continue
		}
		i := 0
		for i < len(hidden) && hidden[i].retainer != r {
			i++
		}
		if i == len(hidden) {
			hidden = append(hidden, kept{retainer: r, path: b.path})
		}
		hidden[i].tally = hidden[i].plus(b.own())
	}
	return rest, hidden
}
