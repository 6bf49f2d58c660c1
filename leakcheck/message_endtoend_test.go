package leakcheck

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// Each of these programs leaks through the standard library. The first lines of the message must
// name the usual cause, and nothing in it must demand more than that one fix.
func TestEndToEndMessages(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	if out, ok := m.run(t, "growth", nil, "go", "test", "-vet=off", "-c", "-o", "growth.test", "-ldflags=-s=0 -w=0", "."); !ok {
		t.Fatal(out)
	}
	for name, want := range map[string][]string{
		"Pull": {
			"+1.00 goroutine/op (+", " beside the stack) in example.com/app/growth.numbersFrom.func1\n",
			"the usual cause: the stop function that iter.Pull returned is not called\n",
		},
		"WaitGroup": {
			"+1.00 goroutine/op in example.com/app/growth.(*hub).wait\n", "in state: chan receive, at example.com/app/growth.(*hub).wait (messages_test.go:",
			"created by sync.(*WaitGroup).Go (",
		},
		"Handler": {
			" in example.com/app/growth.(*hub).ServeHTTP\n", "the usual cause: a handler does not return\n",
			"in state: chan receive, at example.com/app/growth.(*hub).wait (messages_test.go:",
		},
		"Transport": {
			" in net/http.(*persistConn).readLoop\n", "the usual cause: an http.Transport is made for each call, or",
			"with it, as a rule for the same cause:\n", "+1.00 goroutine/op (+", " in net/http.(*conn).serve\n", " in net/http.(*persistConn).writeLoop\n",
		},
		"Signals": {
			" in os/signal.NotifyContext.func1\n", "the usual cause: the stop function that signal.NotifyContext returned is not called\n",
			"with it, as a rule for the same cause:\n", "+1.00 chan os.Signal/op (+", " via os/signal.handlers.m[$key]\n",
		},
		"Template": {
			"+1.00 *template.Template/op (+", " via example.com/app/growth.page.nameSpace.set[*]\n",
			"the usual cause: New on a template that is shared adds to its set of templates: Clone it first\n",
			"nameSpace.set[*]  *template.Template, counted above  ~\n",
		},
		"Cancel": {"+1.00 *context.timerCtx/op (+", " via example.com/app/growth.untilDone.children[$key]\n", "the usual cause: the cancel function of a context is not called\n"},
		"Defer": {
			" via example.com/app/growth.serveJobs.$defer\n",
			"the usual cause: a defer statement in a loop: the calls pile up until example.com/app/growth.serveJobs returns\n",
		},
		"Beyond": {
			" via example.com/app/growth.firsts[*]\n",
			"the usual cause: elements beyond the length are kept alive: clear them before s = s[:n] (clear, slices.Delete)\n",
			"[*]  []*growth.session, len 90, cap 5,760; 5,670 of these lie beyond the length",
		},
		"Part": {
			" via example.com/app/growth.names[*]\n",
			"the usual cause: a part of a string keeps all of it alive: copy the part (strings.Clone)\n",
			"90   360.0 KiB  └─ [*]  string, 359.3 KiB of it outside of the strings",
		},
		"Sampled": {"+1.00 *growth.session/op (+", " via example.com/app/growth.sessions[*]\n"},
	} {
		out, ok := m.run(t, "growth", nil, "./growth.test", "-test.run=^TestSays"+name+"$")
		if ok {
			t.Errorf("%s passed", name)
			continue
		}
		// one leak
		wantInOrder(t, out, append([]string{"leakcheck: memory grows with every call of op\n"}, want...)...)
		if wrong := "cutting that is not enough"; strings.Contains(out, wrong) {
			t.Errorf("%s: it says %q:\n%s", name, wrong, out)
		}
	}
}

// In the last batch of calls all allocations are recorded, unless go test writes a profile of them.
// The message does not print samples of a profiler.
func TestSaysWhereAllocated(t *testing.T) {
	require.Slow(t)
	m := newScratchModule(t)
	if out, ok := m.run(t, "growth", nil, "go", "test", "-vet=off", "-c", "-o", "growth.test", "-ldflags=-s=0 -w=0", "."); !ok {
		t.Fatal(out)
	}
	const line = "allocated at:\n               example.com/app/growth.TestSaysSampled.func1 (messages_test.go:"
	for flag, want := range map[string]bool{
		"-test.v": true, "-test.memprofilerate=1": true,
		"-test.memprofile=" + filepath.Join(t.TempDir(), "mem"): false,
	} {
		out, ok := m.run(t, "growth", nil, "./growth.test", "-test.run=^TestSaysSampled$", flag)
		if ok || strings.Contains(out, line) != want || !want && strings.Contains(out, "allocated at") {
			t.Errorf("%s: it is to say where all was allocated: %t; it says:\n%s", flag, want, out)
		}
	}
}
