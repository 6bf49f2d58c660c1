package leakcheck

import (
	"strings"
	"testing"

	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
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
