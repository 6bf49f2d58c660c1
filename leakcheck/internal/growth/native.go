package growth

import (
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/artifact"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/calls"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/finding"
	"github.com/leakgate/leakgate/leakcheck/internal/growth/wording"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
)

// takeNative returns the memory of C code, where resources are looked at. It returns nil if that
// memory is unknown, and logs once why; in a program without a C library it logs nothing. It
// compares no more than the note's beginning, since the cause may have other figures each time.
func takeNative(a *assertion.Assertion) *native.Heap {
	if a.Native.Take == nil || a.Resources == nil {
		return nil
	}
	h, err := a.Native.Take()
	if err == nil {
		return h
	}
	const note = "native memory was not looked at: "
	if !native.IsNone(err) && !slices.ContainsFunc(a.Logs, func(l string) bool { return strings.HasPrefix(l, note) }) {
		a.Logs = append(a.Logs, note+err.Error())
	}
	return nil
}

const (
	minRecorded = 8 // calls of op in a batch: enough to tell a leak from a single event
	// maximum growth in a batch: the tables have room for a million blocks, and for 4,096 mappings
	maxBlocks, maxBytes = 250_000, 4 << 20

	none = "none: " // prefix of envvar.Native if calls cannot be recorded; the reason follows
)

// recordNative runs two more batches if native memory grows in a test that leakgate run -native
// started. It records each call of C code that allocates. The growth is what the second batch adds:
// caches have what they need after the first. slowest is how long the slowest snapshot took. It
// returns nil if calls are not to be recorded.
func recordNative(a *assertion.Assertion, run *calls.Runner, w *wording.Wording, slowest time.Duration) (found *wording.NativeCalls, profiles artifact.Native) {
	if a.Native.Record == nil || a.Env.Native == "" {
		return nil, profiles
	}
	n, due := max(minRecorded, w.Batches[0]), 0
	for _, r := range w.Resources() {
		if !r.IsOfC() {
			continue
		}
		most := maxBytes
		if r.Kind == ledger.Native {
			most, due = maxBlocks, int(100*r.Own.PerCall())
		}
		n = max(1, min(n, int(float64(most)/r.Own.PerCall())))
		found = &wording.NativeCalls{}
	}
	if found == nil {
		return nil, profiles
	}
	if strings.HasPrefix(a.Env.Native, none) {
		found.Unknown = a.Env.Native[len(none):]
		return found, profiles
	}
	if !a.Time.Allows(2*slowest + 2*time.Duration(n+1)*run.Slowest) {
		found.Unknown = "there was no time for two more batches of calls"
		return found, profiles
	}
	ctx, cancel := a.Time.Context()
	defer cancel()
	before := run.Calls
	answer, err := a.Native.Record(ctx, a.Env.Native, n, due, func() bool {
		run.Call(n, nil)
		runtime.GC() // finalizers free native memory
		a.Sleep(assertion.RetryWaits[0])
		return !run.Ended()
	})
	run.Resume(before)
	if err != nil {
		found.Unknown = err.Error()
		return found, profiles
	}
	found.Calls, found.Answer = int64(n), answer
	return found, artifact.Native{Base: answer.Base, Last: answer.Last}
}

// nativeGrows reports whether native memory grows whose holders can be found.
func nativeGrows(a *assertion.Assertion, f *finding.Finder) bool {
	return a.Native.Holders != nil && slices.ContainsFunc(f.Resources(), func(r *finding.Resource) bool { return r.Native != nil })
}

// blocksBefore returns the native blocks that exist after so many calls, if native blocks have
// grown with each batch; else nil.
func blocksBefore(a *assertion.Assertion, f *finding.Finder, calls int64) *finding.NativeHolders {
	if !nativeGrows(a, f) {
		return nil
	}
	all, err := a.Native.Blocks()
	if err != nil {
		return nil
	}
	return &finding.NativeHolders{Before: all, Calls: calls}
}

// callerOfC returns who made the growing native blocks, if C code is called by one of the program's
// packages alone; nil if not. The standard library's own calls free what they take.
func callerOfC(a *assertion.Assertion, f *finding.Finder) []wording.Maker {
	names := f.Last().Eval.Observation.Names
	if names == nil || !nativeGrows(a, f) {
		return nil
	}
	var by []wording.Maker
	names.KnownType(func(name string) bool { // also called for functions, as the types of closures
		function, called, _ := strings.Cut(strings.TrimPrefix(name, "func "), "._Cfunc_") // cmd/cgo/out.go
		pkg := symbol.Unescape(function)
		c := goroutine.Call{Function: pkg + ".(C code)"}
		if called != "" && a.Env.IsProgram(pkg) && !slices.ContainsFunc(by, func(m wording.Maker) bool { return m.Call == c }) {
			by = append(by, wording.Maker{Call: c, Stack: []goroutine.Call{c}})
		}
		return false
	})
	if len(by) != 1 {
		return nil
	}
	return by
}

// findHolders finds the holders, after so many calls, of the native blocks that are new since
// blocksBefore, if native blocks still grow.
func findHolders(a *assertion.Assertion, f *finding.Finder, calls int64) {
	h := f.Holders
	if h == nil || h.Found != nil || !nativeGrows(a, f) {
		return
	}
	ctx, cancel := a.Time.Context()
	defer cancel()
	h.UpTo = calls
	h.Found, h.Err = a.Native.Holders(ctx, func(b native.Block) bool {
		i := sort.Search(len(h.Before), func(i int) bool { return h.Before[i].Addr >= b.Addr })
		return i == len(h.Before) || h.Before[i].Addr != b.Addr
	})
}
