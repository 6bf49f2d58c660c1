package page_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// serve starts leakgate view, and returns the address that it prints.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	program, err := command()
	require.NoError(t, err)
	cmd := exec.Command(program, append([]string{"view"}, args...)...)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		require.NoError(t, cmd.Wait())
	})
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if url, _, ok := strings.Cut(lines.Text(), " (Ctrl-C"); ok {
			return url
		}
	}
	require.Fail(t, "it ended")
	return ""
}

// TestServed opens the pages of leakgate view, and reads the boxes of pprof's flame graph, which
// may shorten names but has to leave the root, the field or the element.
func TestServed(t *testing.T) {
	slow(t)
	url := serve(t, "-test", "TestHandle", artifacts(t))
	p := openPage(t, url, 1200, 900, "light")
	require.Equal(t, 2, eval[int](p, "document.querySelectorAll('.entry').length"))
	require.Equal(t, "/ui/flamegraph", eval[string](p, "document.querySelector('.tools a').getAttribute('href')"))
	p.clean()

	boxes := open(t, url+"ui/flamegraph", 1600, 900, "light")
	boxes.run(chromedp.Poll("document.querySelectorAll('.boxtext').length > 5", nil, chromedp.WithPollingTimeout(30*time.Second)))
	texts := eval[[]string](boxes, "[...document.querySelectorAll('.boxtext')].map(e => e.innerText)")
	for _, name := range []string{"parcel.inflight", "parcel.inflight.Requests", "parcel.inflight.Requests[*]", "parcel.inflight.Requests[*].Retry.Body", "parcel.wait.buffer"} {
		require.Contains(t, texts, name)
	}
	boxes.picture("pprof")
}

// TestText checks the output for a terminal without a browser.
func TestText(t *testing.T) {
	slow(t)
	out, code := leakgate(t, "view", "-text", "-test", "TestHandle", artifacts(t))
	require.Zero(t, code)
	require.Contains(t, out, "fail  example.com/parcel.TestHandle #1\n")
	require.Contains(t, out, "    ├─ [*]  *parcel.Request\n")
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "   ") {
			require.LessOrEqual(t, len([]rune(line)), 81, line)
		}
	}
	out, code = leakgate(t, "view", "-test", "TestHandel", artifacts(t))
	require.Equal(t, 2, code)
	require.Contains(t, out, "did you mean TestHandle?")
}
