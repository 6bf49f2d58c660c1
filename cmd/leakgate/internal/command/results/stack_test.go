package results

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/stackprof"
)

// viewText runs leakgate view -text.
func viewText(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = View(&cli.Context{Stdout: &out, Stderr: &errs}, append([]string{"-text"}, args...))
	return code, out.String(), errs.String()
}

// TestViewStackProfile fetches a profile from a server, then reads the copy that it left.
func TestViewStackProfile(t *testing.T) {
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
	code, table, problem := viewText("-top", "0", server.URL)
	require.Zero(t, code, problem)
	assert.Empty(t, problem)
	assert.Equal(t, `flat bytes   cum bytes  cum goroutines  function
   6.0 KiB     6.0 KiB               0  runtime._FreeStack
   2.0 KiB     2.0 KiB               0  runtime.stackpool
   2.0 KiB     8.0 KiB               2  example.com/app.worker
       0 B     2.0 KiB               0  runtime._IdleStacks
`, table)
	file := filepath.Join(t.TempDir(), "stack.pb.gz")
	var out, errs bytes.Buffer
	require.Zero(t, View(&cli.Context{Stdout: &out, Stderr: &errs}, []string{"-o", file, server.URL}), errs.String())
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Len(t, left, 1, "no temporary file stays")

	code, again, problem := viewText("-top", "0", file)
	require.Zero(t, code, problem)
	assert.Equal(t, table, again)
	code, short, _ := viewText("-top", "2", file)
	require.Zero(t, code)
	assert.Regexp(t, `^.*\n.*\n.*\nand 2 more functions\n$`, short)
}

func TestViewGrowth(t *testing.T) {
	location := func(id uint64, name string) *profile.Location {
		return &profile.Location{ID: id, Line: []profile.Line{{Function: &profile.Function{ID: id, Name: name}}}}
	}
	copying, newstack := location(1, "runtime.copystack"), location(2, "runtime.newstack")
	deep, shallow := location(3, "example.com/app.deep"), location(4, "example.com/app.shallow")
	cpu := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Location:   []*profile.Location{copying, newstack, deep, shallow},
	}
	for _, l := range cpu.Location {
		cpu.Function = append(cpu.Function, l.Line[0].Function)
	}
	add := func(n int64, path ...*profile.Location) {
		cpu.Sample = append(cpu.Sample, &profile.Sample{Location: path, Value: []int64{n, n * 10_000_000}})
	}
	add(3, copying, newstack, deep, shallow)
	add(4, copying, newstack, deep)
	add(2, copying, newstack, shallow)
	add(90, deep, shallow)
	dir := t.TempDir()
	write := func(name string, p *profile.Profile) string {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, p.Write(f))
		require.NoError(t, f.Close())
		return f.Name()
	}
	file, kept := write("cpu.pb.gz", cpu), filepath.Join(dir, "growth.pb.gz")
	code, out, problem := viewText("-growth", file)
	require.Zero(t, code, problem)
	assert.Equal(t, `flat samples  cum samples  function
           7            7  example.com/app.deep
           2            5  example.com/app.shallow
`, out)
	var errs bytes.Buffer
	require.Zero(t, View(&cli.Context{Stderr: &errs}, []string{"-growth", "-o", kept, file}), errs.String())
	data, err := os.ReadFile(kept)
	require.NoError(t, err)
	grown, err := profile.ParseData(data)
	require.NoError(t, err)
	assert.Len(t, grown.Sample, 3)

	code, out, _ = viewText("-growth", "-top", "1", file)
	require.Zero(t, code)
	assert.Contains(t, out, "and 1 more function\n")
	cpu.Sample = cpu.Sample[3:]
	code, _, problem = viewText("-growth", write("none.pb.gz", cpu))
	assert.Equal(t, cli.Unknown, code)
	assert.Regexp(t, `^leakgate: could not tell: -growth: \S+none.pb.gz: no sample was taken while a stack was copied to a larger one, which does not mean that none was: `, problem)
	code, _, problem = viewText("-growth", kept+"x")
	assert.Equal(t, cli.Usage, code)
	assert.Contains(t, problem, "is not there")
}

func TestViewProfileErrors(t *testing.T) {
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
		"bad number":    {[]string{"-top", "-1", "a"}, cli.Usage, "how many rows to print"},
		"no profile":    {[]string{text}, cli.Usage, "nor a profile"},
		"no CPU":        {[]string{"-growth", sessionsProfile(t)}, cli.Usage, "no CPU profile"},
		"server's word": {[]string{refusing.URL}, cli.Usage, "for want of debug information"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := viewText(c.args...)
			assert.Equal(t, c.code, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, c.text)
		})
	}
}
