package symbolize

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

// The libraries of Debian's packages libgoogle-perftools4 and libjemalloc2.
const (
	tcmallocLibrary = "libtcmalloc.so.4"
	jemallocLibrary = "libjemalloc.so.2"
)

// needs skips a test if a program that it starts is not installed, or with -short: that is for the
// race detector, which does not see other programs.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts other programs")
	}
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("there is no " + name)
		}
	}
}

// needsLibrary skips a test if a library is not installed.
func needsLibrary(t *testing.T, name string) {
	t.Helper()
	cmd := exec.Command("true")
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+name)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	if strings.Contains(string(out), "cannot be preloaded") {
		t.Skip("there is no " + name)
	}
}

// command runs a program in a folder, with an environment besides the usual one.
func command(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
}

// buildApp builds app.c and its library in a new folder.
func buildApp(t *testing.T, flags ...string) (dir string) {
	t.Helper()
	needs(t, "cc")
	source, err := filepath.Abs("testdata")
	require.NoError(t, err)
	dir = t.TempDir()
	flags = append([]string{"-g", "-O1", "-Wl,--build-id"}, flags...)
	command(t, dir, nil, "cc", append(flags, "-fPIC", "-shared", "-o", "libleaf.so", filepath.Join(source, "leaf.c"))...)
	command(t, dir, nil, "cc", append(flags, "-o", "app", filepath.Join(source, "app.c"), "-L.", "-lleaf", "-Wl,-rpath,"+dir)...)
	return dir
}

// only returns the one file that a pattern matches.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	return found[0]
}

// heapOf has gperftools write a profile of the app in a folder.
func heapOf(t *testing.T, dir string) string {
	t.Helper()
	needsLibrary(t, tcmallocLibrary)
	command(t, dir, []string{"LD_PRELOAD=" + tcmallocLibrary, "HEAPPROFILE=" + filepath.Join(dir, "out")}, "./app")
	return only(t, filepath.Join(dir, "out.*.heap"))
}

// symbolizeCommand runs leakgate symbolize.
func symbolizeCommand(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(&cli.Context{Stdout: &out, Stderr: &errs}, args)
	return code, out.String(), errs.String()
}

// named runs leakgate symbolize, and returns the profile that it wrote, and its output.
func named(t *testing.T, args ...string) (p *profile.Profile, stdout, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "named.pb.gz")
	code, stdout, stderr := symbolizeCommand(append(args, "-o", file)...)
	require.Zero(t, code, stderr)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	p, err = profile.ParseData(b)
	require.NoError(t, err)
	return p, stdout, stderr
}

// cum sums the last value, in bytes, of the samples with a function on their stack.
func cum(p *profile.Profile, name string) (bytes int64) {
	for _, s := range p.Sample {
		for _, f := range stack(s) {
			if f == name {
				bytes += s.Value[len(s.Value)-1]
				break
			}
		}
	}
	return bytes
}

// stack returns the names of a sample's functions, the innermost first.
func stack(s *profile.Sample) (names []string) {
	for _, l := range s.Location {
		for _, line := range l.Line {
			names = append(names, line.Function.Name)
		}
	}
	return names
}

// lineOf returns the file and line of a function in a profile.
func lineOf(p *profile.Profile, name string) (place string, line int64) {
	for _, l := range p.Location {
		for _, at := range l.Line {
			if at.Function.Name == name {
				return filepath.Base(at.Function.Filename), at.Line
			}
		}
	}
	return "", 0
}
