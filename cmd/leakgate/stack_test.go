package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/stackprof"
)

func stackCommand(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = printStacks(&context{stdout: &out, stderr: &errs}, args)
	return code, out.String(), errs.String()
}

// TestStackCommand fetches a profile from a server, then reads the copy that it left.
func TestStackCommand(t *testing.T) {
	worker := &refscan.StackLocation{Func: "example.com/app.worker", File: "app.go", Line: 7}
	trace := &refscan.StackTrace{Frames: []refscan.StackFrame{{StackLocation: worker, Size: 1000}}}
	goroutine := &refscan.GoroutineStack{Lo: 4096, SP: 8192 - 1000, Hi: 8192, Trace: trace, Entry: worker.Func}
	p := stackprof.New(&refscan.Stacks{
		Goroutines: []*refscan.GoroutineStack{goroutine, goroutine}, Others: []refscan.StackSum{{Kind: refscan.StackPooled, Bytes: 2048}},
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := p.WriteTo(w)
		assert.NoError(t, err)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "stack.pb.gz")
	code, table, problem := stackCommand("-n", "0", "-o", file, server.URL)
	require.Zero(t, code, problem)
	assert.Empty(t, problem)
	assert.Equal(t, `    flat bytes      cum bytes  goroutines  function
          6192           6192           0  runtime._FreeStack
          2048           2048           0  runtime.stackpool
          2000           8192           2  example.com/app.worker
             0           2048           0  runtime._IdleStacks
`, table)
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Len(t, left, 1, "no temporary file stays")

	code, again, problem := stackCommand("-n", "0", file)
	require.Zero(t, code, problem)
	assert.Equal(t, table, again)
	code, short, _ := stackCommand("-n", "2", file)
	require.Zero(t, code)
	assert.Regexp(t, `^.*\n.*\n.*\nand \d+ more functions\n$`, short)
}

func TestStackCommandErrors(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "for want of debug information", http.StatusServiceUnavailable)
	}))
	defer refusing.Close()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("no profile"), 0o600))
	for name, c := range map[string]struct {
		args []string
		code int
		text string
	}{
		"no source":     {nil, exitUsage, "name a profile"},
		"two sources":   {[]string{"a", "b"}, exitUsage, "one profile at a time"},
		"bad number":    {[]string{"-n", "-1", "a"}, exitUsage, "-n -1"},
		"unknown flag":  {[]string{"-x", "a"}, exitUsage, "-x"},
		"no file":       {[]string{filepath.Join(dir, "none")}, exitUnknown, "none"},
		"no profile":    {[]string{text}, exitUnknown, "is no profile"},
		"server's word": {[]string{refusing.URL}, exitUnknown, "for want of debug information"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := stackCommand(c.args...)
			assert.Equal(t, c.code, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, c.text)
		})
	}
}
