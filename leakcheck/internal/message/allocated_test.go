package message_test

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// A long stack shows its beginning, and the program's part of it.
func TestStackLines(t *testing.T) {
	const library, program = "net/http.f", "example.com/app.f"
	stack := func(functions ...string) (frames []refscan.SourceFrame) {
		for _, f := range functions {
			for range strings.Count(f, "f") {
				frames = append(frames, refscan.SourceFrame{Func: strings.TrimRight(f, "f") + "f"})
			}
		}
		return frames
	}
	for _, tt := range []struct {
		stack []refscan.SourceFrame
		want  string
	}{
		{stack(program + "ff"), "app app app"},
		{stack(library + "fffff"), "http http http http http http"},
		// one more is shown rather than counted
		{stack(library+"fff", program+"ff"), "http http http http app app app"},
		{stack(library+"fff", program+"fff"), "http http http http app app … 2 more"},
		{stack(library + "fffffffff"), "http http http http http http … 4 more"},
		{stack(library+"fffffffff", program+"f"), "http http http http … 6 more app app"},
		{stack(library+"fffffffff", program+"fffff"), "http http http http … 6 more app app … 4 more"},
		{append(stack(library, program), stack("github.com/leakgate/leakgate/leakcheck.f", library)...), "http app"},
	} {
		var got []string
		for _, line := range message.StackLines(tt.stack, &environ.Environment{}) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "net/http"):
				line = "http"
			case strings.HasPrefix(line, "example.com"):
				line = "app"
			}
			got = append(got, line)
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%d frames: %s\nwant %s", len(tt.stack), text, tt.want)
		}
	}
}

// The stack with most objects is shown, whatever called the code under test.
func TestWhereAllocated(t *testing.T) {
	record := func(n int64, functions ...string) refscan.Allocation {
		a := refscan.Allocation{Objects: n}
		for i, f := range functions {
			a.Stack = append(a.Stack, refscan.SourceFrame{Func: f, File: "/src/app/app.go", Line: i + 1})
		}
		return a
	}
	const tool = "github.com/leakgate/leakgate/leakcheck.AssertNoGrowth"
	b := &tree.Branch{Figures: refscan.Figures{Objects: 12}, Allocations: []refscan.Allocation{
		record(5, "example.com/app.b"), record(3, "example.com/app.a", tool, "example.com/app.TestX"), record(4, "example.com/app.a", tool, "example.com/app.TestY"), record(-1, "example.com/app.b"),
	}}
	all := *env
	all.AllAllocations = true
	assert.Equal(t, []string{"", "app.T allocated at (7 of 12):", "   example.com/app.a (app.go:1)"}, message.AllocatedAt(b, "app.T", &all))
	assert.Nil(t, message.AllocatedAt(b, "app.T", env), "other records differ from run to run")
	assert.Equal(t, []string{"", "allocated at:", "   example.com/app.b (app.go:1)"}, message.WhereAllocated(b.Allocations[:1], 3, "", env))
	assert.Nil(t, message.WhereAllocated(b.Allocations[3:], 3, "", env))
	assert.Nil(t, message.WhereAllocated(nil, 3, "", env))
	same := []refscan.Allocation{record(2, "example.com/app.b"), record(2, "example.com/app.a")}
	assert.Contains(t, message.WhereAllocated(same, 4, "", env)[2], "app.a", "the first by name")
}
