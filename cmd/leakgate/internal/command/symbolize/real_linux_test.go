package symbolize

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
)

// requireApp checks the names in a profile of app.c. The program keeps 300 blocks each of 1,000 and
// of 2,000 bytes; small and large are their sizes in the allocator.
func requireApp(t *testing.T, p *profile.Profile, small, large int64) {
	t.Helper()
	for name, want := range map[string]int64{
		"keep_own":                          300 * small,
		"leaf::Keeper<leaf::Node, 3>::keep": 300 * large,
		"leaf::list::grow":                  300 * large,
		"leaf_keep":                         300 * large,
		"both":                              300 * (small + large), // inlined
		"work":                              300 * (small + large),
		"main":                              300 * (small + large),
	} {
		require.Equal(t, want, cum(p, name), name)
	}
	file, line := lineOf(p, "both")
	require.Equal(t, "app.c", file)
	require.Contains(t, []int64{13, 14}, line)
	file, line = lineOf(p, "work")
	require.Equal(t, "app.c", file)
	require.EqualValues(t, 19, line, "where it calls what is inlined")
	for _, s := range p.Sample {
		if names := stack(s); slices.Contains(names, "work") {
			require.Less(t, slices.Index(names, "both"), slices.Index(names, "work"))
		}
	}
}

// TestTcmalloc names a real profile of gperftools, of a position-independent program and of
// another.
func TestTcmalloc(t *testing.T) {
	for name, flag := range map[string]string{"pie": "-pie", "exe": "-no-pie"} {
		t.Run(name, func(t *testing.T) {
			dir := buildApp(t, "-fPIE", flag)
			p, out, errs := named(t, heapOf(t, dir))
			require.Empty(t, errs)
			requireApp(t, p, 1000, 2000)
			require.Contains(t, out, filepath.Join(dir, "libleaf.so")+" (symbols, lines)")
			require.True(t, p.Mapping[0].HasFunctions)
			require.Equal(t, filepath.Join(dir, "app"), p.Mapping[0].File, "the program is first")
			require.NotEmpty(t, p.Mapping[0].BuildID)
		})
	}
}

// TestPprofReads has go tool pprof read the command's output when the program's files are gone.
func TestPprofReads(t *testing.T) {
	dir := buildApp(t)
	file, page := filepath.Join(dir, "named.pb.gz"), filepath.Join(dir, "heap.html")
	code, _, errs := symbolizeCommand("-o", file, "-html", page, heapOf(t, dir))
	require.Zero(t, code, errs)
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(html), "Content-Security-Policy")
	require.NoError(t, os.Remove(filepath.Join(dir, "app")))
	require.NoError(t, os.Remove(filepath.Join(dir, "libleaf.so")))
	out, err := exec.Command("go", "tool", "pprof", "-top", "-nodecount=50", file).Output()
	require.NoError(t, err)
	for _, want := range []string{"leaf::list::grow", "keep_own", "work", "both (inline)"} {
		require.Contains(t, string(out), want)
	}
}

// TestJemalloc names a real profile of jemalloc, which counts blocks with the size of their class.
func TestJemalloc(t *testing.T) {
	dir := buildApp(t)
	needsLibrary(t, jemallocLibrary)
	command(t, dir, []string{
		"LD_PRELOAD=" + jemallocLibrary, "MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:" + filepath.Join(dir, "out"),
	}, "./app")
	found, err := filepath.Glob(filepath.Join(dir, "out.*.heap"))
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("jemalloc was built without profiling")
	}
	p, out, errs := named(t, found[0])
	require.Empty(t, errs)
	requireApp(t, p, 1024, 2048)
	require.Contains(t, out, "jemalloc profile: ")
}

// TestStripped finds the names of a stripped library in its separate debug file, by build ID and by
// name and checksum. It takes no debug file of another build.
func TestStripped(t *testing.T) {
	needs(t, "objcopy", "strip")
	const hidden = "leaf::Keeper<leaf::Node, 3>::keep"
	dir := buildApp(t)
	heap := heapOf(t, dir)
	library, debug := filepath.Join(dir, "libleaf.so"), filepath.Join(dir, "libleaf.so.debug")
	command(t, dir, nil, "objcopy", "--only-keep-debug", library, debug)
	command(t, dir, nil, "strip", library)

	p, out, _ := named(t, heap)
	require.Contains(t, out, "exported symbols only: stripped, without a debug file")
	require.Zero(t, cum(p, hidden))
	require.EqualValues(t, 300*2000, cum(p, "leaf_keep"), "it is exported")
	unnamed := 0
	for _, s := range p.Sample {
		for _, name := range stack(s) {
			if strings.HasPrefix(name, "libleaf.so+0x") {
				unnamed++
			}
		}
	}
	require.Equal(t, 1, unnamed, "no neighbour's name")

	command(t, dir, nil, "objcopy", "--add-gnu-debuglink="+debug, library)
	p, out, _ = named(t, heap)
	requireApp(t, p, 1000, 2000)
	require.Contains(t, out, "symbols of "+debug+", lines")

	id := p.Mapping[slices.IndexFunc(p.Mapping, func(m *profile.Mapping) bool { return m.File == library })].BuildID
	folder := filepath.Join(dir, "debug", ".build-id", id[:2])
	require.NoError(t, os.MkdirAll(folder, 0o777))
	require.NoError(t, os.Rename(debug, filepath.Join(folder, id[2:]+".debug")))
	p, _, _ = named(t, heap, "-debug", filepath.Join(dir, "debug"))
	requireApp(t, p, 1000, 2000)

	other := buildApp(t, "-O2", "-DOTHER")
	command(t, other, nil, "objcopy", "--only-keep-debug", "app", debug)
	p, _, _ = named(t, heap)
	require.Zero(t, cum(p, hidden), "the debug file is of another build")
}

// TestAnotherBuild takes no names from a file other than the one that was mapped.
func TestAnotherBuild(t *testing.T) {
	dir := buildApp(t)
	heap := heapOf(t, dir)
	p, _, _ := named(t, heap)
	id := p.Mapping[0].BuildID
	for _, l := range p.Location {
		l.Line = nil
	}
	p.Function = nil
	write := func(id string) string {
		p.Mapping[0].BuildID = id
		name := filepath.Join(t.TempDir(), "profile.pb.gz")
		f, err := os.Create(name)
		require.NoError(t, err)
		require.NoError(t, p.Write(f))
		require.NoError(t, f.Close())
		return name
	}
	same, _, _ := named(t, write(id))
	requireApp(t, same, 1000, 2000)
	other, out, _ := named(t, write("00"+id[2:]))
	require.Zero(t, cum(other, "work"))
	require.Contains(t, out, "it is another build: the file there has the build ID "+id)
	require.False(t, other.Mapping[0].HasFunctions, "another machine may have the file")

	// Without build IDs, a file without code at the mapped place is another file.
	library := filepath.Join(dir, "libleaf.so")
	text, err := os.ReadFile(heap)
	require.NoError(t, err)
	text = []byte(strings.ReplaceAll(string(text), "/app\n", "/app (deleted)\n"))
	require.NoError(t, os.WriteFile(heap, text, 0o666))
	command(t, dir, nil, "cp", "/bin/sh", library)
	code, out, _ := symbolizeCommand(heap)
	require.Equal(t, cli.Pass, code)
	require.Contains(t, out, "libleaf.so (it is not the file that was mapped")
	require.Contains(t, out, "app (the file was removed or replaced while the program ran")
	require.NotContains(t, out, "work")
}
