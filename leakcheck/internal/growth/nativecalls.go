package growth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/internal/engine/nativecalls"
	"github.com/leakgate/leakgate/internal/nativestack"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/leakcheck/internal/artifact"
	"github.com/leakgate/leakgate/leakcheck/internal/assertion"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
)

// nativeCalls is what is known of the calls that allocate the native memory that grows.
type nativeCalls struct {
	calls  int64 // of op in each of the two batches that were recorded
	lines  []nativestack.Line
	blocks float64 // that came with each of the calls in the second one
	err    error   // why that is not known

	withoutGo error // why the Go code that called C is not known; nil if it is
}

const (
	minRecorded = 8       // calls of op in a batch, so that what happens once is told from a leak
	maxBlocks   = 250_000 // that a batch leaves: the table has room for a million
	maxMappings = 1000    // and that for mappings for 4,096
)

// isOfC reports whether a resource is memory that C code may have allocated.
func (r *resource) isOfC() bool { return r.native != nil || r.kind == ledger.Mapping }

// room is in how many calls of op the tables can hold what grows.
func (r *resource) room() int {
	switch {
	case r.kind == ledger.Native:
		return int(maxBlocks / r.own.perCall())
	case r.kind == ledger.Mapping:
		return int(maxMappings / max(r.own.perCall()/float64(os.Getpagesize()), 1))
	}
	return maxBlocks
}

// recordCalls runs two more batches where native memory has been found to grow, with each call recorded by which C
// code allocates, in a test that leakgate run -native started. What comes with the second one is what grows: caches
// have what they need after the first.
func (x *Experiment) recordCalls(o *assertion.Outcome) {
	if o.Verdict != verdict.Fail || o.Misuse || x.NativeCalls == nil || x.Env.Native == "" {
		return
	}
	of := slices.DeleteFunc(x.resources(), func(r *resource) bool { return !r.isOfC() })
	if len(of) == 0 {
		return
	}
	n := max(minRecorded, x.batches[0])
	for _, r := range of {
		n = max(1, min(n, r.room()))
	}
	x.native = &nativeCalls{}
	if cause, is := strings.CutPrefix(x.Env.Native, "none: "); is {
		x.native.err = errors.New(cause)
		return
	}
	if !x.Time.Allows(2*x.slowestLook + 2*time.Duration(n+1)*x.slowestCall) {
		x.native.err = errors.New("there was no time for two more batches of calls")
		return
	}
	ctx, cancel := x.Time.Context()
	defer cancel()
	before := x.calls
	found, err := x.NativeCalls(ctx, func() bool {
		x.call(n)
		return !x.failed && !x.late
	})
	x.calls, x.failed, x.late = before, false, false
	switch {
	case errors.Is(err, observe.ErrBatch):
		err = errors.New("op failed the test, or the time was up, in one of two more batches of calls")
	case err == nil && found.Lost > 0:
		err = fmt.Errorf("there was no room for %s: let op do less, or set Iterations", textfmt.CountNoun(found.Lost, "of the calls"))
	}
	if err != nil {
		x.native.err = err
		return
	}
	x.native.calls = int64(n)
	x.native.withoutGo = found.WithoutGo
	x.nameCalls(ctx, found, o)
}

// nameCalls has the calls named, and keeps profiles of them.
func (x *Experiment) nameCalls(ctx context.Context, found *observe.NativeCalls, o *assertion.Outcome) {
	n := x.native
	r := &nativestack.Record{PID: os.Getpid(), Stacks: joinMoments(found.Base, found.Last), Calls: n.calls, TimeNanos: x.Now().UnixNano()}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
		r.Maps = string(maps)
	}
	var answer *nativestack.Answer
	if answer, n.err = x.NameCalls(ctx, x.Env.Native, r); n.err != nil {
		return
	}
	o.Native = artifact.Native{Base: string(answer.Base), Last: string(answer.Last)}
	n.lines = answer.Lines
	for i := range r.Stacks {
		if blocks, _ := r.Stacks[i].Grown(n.calls); !r.Stacks[i].IsMapping() {
			n.blocks += blocks
		}
	}
}

// joinMoments puts the stacks of two moments side by side.
func joinMoments(base, last []nativecalls.Stack) []nativestack.Stack {
	var all []nativestack.Stack
	at := make(map[int]int)
	add := func(s *nativecalls.Stack) *nativestack.Stack {
		i, known := at[s.ID]
		if !known {
			i = len(all)
			at[s.ID] = i
			all = append(all, nativestack.Stack{Function: s.Function, C: s.C, Go: s.Go})
		}
		return &all[i]
	}
	for i := range base {
		add(&base[i]).Base = nativestack.Amount{Blocks: base[i].Blocks, Bytes: base[i].Bytes}
	}
	for i := range last {
		add(&last[i]).Last = nativestack.Amount{Blocks: last[i].Blocks, Bytes: last[i].Bytes}
	}
	return all
}

// callsBehind says by which calls native memory that grows with a leak was allocated.
func (x *Experiment) callsBehind(l *leak) []string {
	i := slices.IndexFunc(l.resources, (*resource).isOfC)
	if i < 0 || x.NativeCalls == nil {
		return nil
	}
	n, r := x.native, l.resources[i]
	switch {
	case n == nil && r.native == nil:
		return nil // a mapping is Go's as a rule
	case n == nil:
		return []string{"", "leakgate run -native names the calls that allocate it"}
	case n.err != nil:
		return []string{"", "which calls allocate it is not known: " + n.err.Error()}
	}
	var lines []string
	for _, c := range n.lines {
		if c.Mapping == (r.native == nil) {
			lines = append(lines, message.AtPlace(c.Text, c.File, c.Line, x.Env))
		}
	}
	if lines == nil && r.native == nil {
		return nil // mapped by Go
	}
	lines = append([]string{"", "allocated by:"}, lines...)
	if n.withoutGo != nil {
		lines = append(lines, "the Go code that called C is not known: "+n.withoutGo.Error())
	}
	const most = 0.75 // of what grows; with fewer the reader has to know
	if rate := r.own.perCall(); r.kind == ledger.Native && n.blocks < most*rate {
		lines = append(lines, fmt.Sprintf("%.2f of %.2f blocks/op were recorded: what allocates the rest does not call malloc by its name, or did not do so in these calls of op", n.blocks, rate))
	}
	return lines
}
