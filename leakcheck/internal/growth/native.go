package growth

import (
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/artifact"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
)

const (
	minRecorded = 8 // calls of op in a batch: enough to tell a leak from a single event
	// maximum growth in a batch: the tables have room for a million blocks, and for 4,096 mappings
	maxBlocks, maxBytes = 250_000, 4 << 20

	none = "none: " // prefix of envvar.Native if calls cannot be recorded; the reason follows
)

// recordCalls runs two more batches if native memory grows in a test that leakgate run -native
// started. It records each call of C code that allocates. The growth is what the second batch adds:
// caches have what they need after the first.
func (x *Experiment) recordCalls(o *assertion.Outcome) {
	if o.Verdict != verdict.Fail || o.Misuse || x.Native.Record == nil || x.Env.Native == "" {
		return
	}
	n, due := max(minRecorded, x.words.Batches[0]), 0
	for _, r := range x.finder.Resources() {
		if !r.IsOfC() {
			continue
		}
		most := maxBytes
		if r.Kind == ledger.Native {
			most, due = maxBlocks, int(100*r.Own.PerCall())
		}
		n = max(1, min(n, int(float64(most)/r.Own.PerCall())))
		x.words.Native = &wording.NativeCalls{}
	}
	if x.words.Native == nil {
		return
	}
	if strings.HasPrefix(x.Env.Native, none) {
		x.words.Native.Unknown = x.Env.Native[len(none):]
		return
	}
	if !x.Time.Allows(2*x.slowestSnapshot + 2*time.Duration(n+1)*x.op.slowest) {
		x.words.Native.Unknown = "there was no time for two more batches of calls"
		return
	}
	ctx, cancel := x.Time.Context()
	defer cancel()
	before := x.op.calls
	answer, err := x.Native.Record(ctx, x.Env.Native, n, due, func() bool {
		x.call(n, nil)
		runtime.GC() // finalizers free native memory
		x.Sleep(assertion.RetryWaits[0])
		return !x.op.ended()
	})
	x.op.calls, x.op.failed, x.op.late = before, false, false
	if err != nil {
		x.words.Native.Unknown = err.Error()
		return
	}
	x.words.Native.Calls, x.words.Native.Answer = int64(n), answer
	o.Native = artifact.Native{Base: answer.Base, Last: answer.Last}
}

func (x *Experiment) nativeGrows() bool {
	return x.Native.Holders != nil && slices.ContainsFunc(x.finder.Resources(), func(r *finding.Resource) bool { return r.Native != nil })
}

// noteBlocks records the native blocks that exist, if native blocks have grown with each batch.
func (x *Experiment) noteBlocks() {
	if !x.nativeGrows() {
		return
	}
	all, err := x.Native.Blocks()
	if err != nil {
		return
	}
	x.finder.Holders = &finding.NativeHolders{Before: all, Calls: x.op.calls}
}

// findCallerOfC finds who made the growing native blocks, if C code is called by one of the
// program's packages alone. The standard library's own calls free what they take.
func (x *Experiment) findCallerOfC() {
	names := x.past.Last().Eval.Observation.Names
	if names == nil || !x.nativeGrows() {
		return
	}
	var by []wording.Maker
	names.KnownType(func(name string) bool { // also called for functions, as the types of closures
		function, called, _ := strings.Cut(strings.TrimPrefix(name, "func "), "._Cfunc_") // cmd/cgo/out.go
		pkg := symbol.Unescape(function)
		c := pile.Call{Function: pkg + ".(C code)"}
		if called != "" && x.Env.IsProgram(pkg) && !slices.ContainsFunc(by, func(m wording.Maker) bool { return m.Call == c }) {
			by = append(by, wording.Maker{Call: c, Stack: []pile.Call{c}})
		}
		return false
	})
	if len(by) != 1 {
		return
	}
	if x.words.Makers == nil {
		x.words.Makers = make(map[string][]wording.Maker)
	}
	x.words.Makers[ledger.Native.String()], x.words.Makers[ledger.NativeBytes.String()] = by, by
}

// findHolders finds the holders of the native blocks that are new since noteBlocks, if native
// blocks still grow.
func (x *Experiment) findHolders() {
	h := x.finder.Holders
	if h == nil || h.Found != nil || !x.nativeGrows() {
		return
	}
	ctx, cancel := x.Time.Context()
	defer cancel()
	h.UpTo = x.op.calls
	h.Found, h.Err = x.Native.Holders(ctx, func(b nativeheap.Block) bool {
		i := sort.Search(len(h.Before), func(i int) bool { return h.Before[i].Addr >= b.Addr })
		return i == len(h.Before) || h.Before[i].Addr != b.Addr
	})
}
