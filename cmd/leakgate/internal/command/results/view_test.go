package results

import (
	"bufio"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

// sessionsProfile writes a profile of references and returns its path.
func sessionsProfile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "retained.pb.gz")
	writeProfile(t, path, true, map[string][2]int64{"map": {1, 1000}, "user": {40, 3000}, "tiny": {1, 1}}, map[string][]string{
		"map":  {"example.com/app.sessions. (map[string]*app.Session)"},
		"user": {"User. (<&\"string)", "example.com/app.sessions. (map[string]*app.Session)"},
		"tiny": {"example.com/app.tiny"},
	})
	return path
}

// The texts that leakgate symbolize reads are shown as well. An address without a name is shown as
// it is, not as its caller.
func TestViewTexts(t *testing.T) {
	for text, want := range map[string]string{
		"main;f 12\nmain;0x4242 3\n": "          12           12  f\n           3            3  0x4242\n           0           15  main\n",
		"Samples:\ncpu/nanoseconds samples/count[dflt]\n 10 3: 1 2\nLocations\n 1: 0x12 f a.c:1:0 s=0\n 2: 0x34 main a.c:2:0 s=0\nMappings\n":      "3            3  f\n",
		"heap profile: 2: 300 [ 2: 300] @ heapprofile\n 2: 300 [ 2: 300] @ 0x401235\n\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 0 08:01 1 /app\n": "0x401234\n",
		"heap_v2/1\n  t*: 1: 16 [0: 0]\n@ 0x401235\n  t*: 1: 16 [0: 0]\n":                                                                          "0x401234\n",
	} {
		path := filepath.Join(t.TempDir(), "text")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		code, out, problem := viewText(path)
		require.Zero(t, code, problem)
		require.Contains(t, out, want, "%s", text)
	}
}

// The pictures are well-formed, have every frame that is wide enough to see, and refer to nothing
// outside themselves.
func TestViewDraws(t *testing.T) {
	source := sessionsProfile(t)
	for _, name := range []string{"graph.svg"} {
		out := filepath.Join(t.TempDir(), name)
		var stdout, stderr bytes.Buffer
		require.Equal(t, cli.Pass, View(&cli.Context{Stdout: &stdout, Stderr: &stderr}, []string{"-o", out, source}), stderr.String())
		data, err := os.ReadFile(out)
		require.NoError(t, err)
		text := string(data)
		require.Contains(t, text, "<title>User. (&lt;&amp;&#34;string): 3000 bytes, 75.0 %</title>")
		require.Contains(t, text, "<title>all: 4001 bytes, 100.0 %</title>")
		require.NotContains(t, text, "app.tiny", "too narrow to see")
		require.Equal(t, 1, strings.Count(text, "http://"), "the name space of SVG only")
		require.NotContains(t, text, "https://")

		svg := text[strings.Index(text, "<svg"):]
		svg = svg[:strings.Index(svg, "</svg>")+len("</svg>")]
		for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
			_, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
	}
	out := filepath.Join(t.TempDir(), "objects.svg")
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.Pass, View(&cli.Context{Stdout: &stdout, Stderr: &stderr}, []string{"-objects", source, "-o", out}), stderr.String())
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, string(data), "<title>all: 42 count, 100.0 %</title>")
}

func TestViewServesThisMachine(t *testing.T) {
	o, err := ParseView([]string{sessionsProfile(t)})
	require.NoError(t, err)
	shown, err := o.read()
	require.NoError(t, err)
	data, err := shown.page(&cli.Context{})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var stderr bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- o.serve(ctx, &cli.Context{Stdout: w, Stderr: &stderr}, shown, data) }()
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	url, _, _ := strings.Cut(line, " ")

	get := func(url, host string) (int, string) {
		req, err := http.NewRequest(http.MethodGet, url, nil)
		require.NoError(t, err)
		req.Host = host
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { require.NoError(t, resp.Body.Close()) }()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(body)
	}
	code, body := get(url, "")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `id="data"`)
	code, body = get(url+"ui/flamegraph", "")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "example.com/app.sessions")
	code, body = get(url+"ui/top", "")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "User.")
	code, _ = get(url, "leaks.example.com")
	require.Equal(t, http.StatusForbidden, code)

	stop()
	require.NoError(t, <-done)
	require.Empty(t, stderr.String())
}
