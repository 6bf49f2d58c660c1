package growth

import (
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/nativestack"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/artifact"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

// nativeCalls is what is known of the calls that allocate the native memory that grows.
type nativeCalls struct {
	calls   int64 // of op in each of the two batches that were recorded
	answer  *nativestack.Answer
	unknown string // why there is none, else ""
}

const (
	minRecorded = 8 // calls of op in a batch, so that what happens once is told from a leak
	// what a batch leaves at most: the tables have room for a million blocks, and for 4,096 mappings
	maxBlocks, maxBytes = 250_000, 4 << 20

	none = "none: " // of envvar.Native
)

// isOfC reports whether a resource is memory that C code may have allocated.
func (r *resource) isOfC() bool { return r.native != nil || r.kind == ledger.Mapping }

// recordCalls runs two more batches where native memory has been found to grow, with each call recorded by which C
// code allocates, in a test that leakgate run -native started. What comes with the second one is what grows: caches
// have what they need after the first.
func (x *Experiment) recordCalls(o *assertion.Outcome) {
	if o.Verdict != verdict.Fail || o.Misuse || x.RecordNative == nil || x.Env.Native == "" {
		return
	}
	n, due := max(minRecorded, x.batches[0]), 0
	for _, r := range x.resources() {
		if !r.isOfC() {
			continue
		}
		most := maxBytes
		if r.kind == ledger.Native {
			most, due = maxBlocks, int(100*r.own.perCall())
		}
		n = max(1, min(n, int(float64(most)/r.own.perCall())))
		x.native = &nativeCalls{}
	}
	if x.native == nil {
		return
	}
	if strings.HasPrefix(x.Env.Native, none) {
		x.native.unknown = x.Env.Native[len(none):]
		return
	}
	if !x.Time.Allows(2*x.slowestLook + 2*time.Duration(n+1)*x.slowestCall) {
		x.native.unknown = "there was no time for two more batches of calls"
		return
	}
	ctx, cancel := x.Time.Context()
	defer cancel()
	before := x.calls
	answer, err := x.RecordNative(ctx, x.Env.Native, n, due, func() bool {
		x.call(n)
		runtime.GC() // finalizers give back what they do
		x.Sleep(assertion.RetryWaits[0])
		return !x.failed && !x.late
	})
	x.calls, x.failed, x.late = before, false, false
	if err != nil {
		x.native.unknown = err.Error()
		return
	}
	x.native.calls, x.native.answer = int64(n), answer
	o.Native = artifact.Native{Base: answer.Base, Last: answer.Last}
}

// callsBehind says by which calls native memory that grows with a leak was allocated.
func (x *Experiment) callsBehind(l *leak) []string {
	i := slices.IndexFunc(l.resources, (*resource).isOfC)
	if i < 0 || x.RecordNative == nil {
		return nil
	}
	n, r := x.native, l.resources[i]
	switch {
	case n == nil && r.native == nil:
		return nil // a mapping is Go's as a rule
	case n == nil:
		return []string{"", "leakgate run -native names the calls that allocate it"}
	case n.unknown != "":
		return []string{"", "which calls allocate it is not known: " + n.unknown}
	}
	var lines []string
	for _, c := range n.answer.Lines {
		// what an allocator that is not known has is in mappings
		if c.Mapping == (r.native == nil) || x.last().native == nil {
			if c.At != "" {
				c.Text += " (" + x.Env.PlaceOf(c.At) + ")"
			}
			lines = append(lines, c.Text)
		}
	}
	if lines == nil && r.native == nil {
		return nil // mapped by Go
	}
	lines = append([]string{"", "allocated by:"}, lines...)
	return lines
}
