package symbolize

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// crash runs a program that writes a profile of gperftools and then aborts. It returns the profile
// and the core file that the kernel writes.
func crash(t *testing.T, dir string, args ...string) (heap, core string) {
	t.Helper()
	needsLibrary(t, tcmallocLibrary)
	cmd := exec.Command("sh", "-c", `ulimit -c unlimited && exec env LD_PRELOAD="$LIBRARY" "$@"`, "sh")
	cmd.Args = append(cmd.Args, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LIBRARY="+tcmallocLibrary, "HEAPPROFILE="+filepath.Join(dir, "out"))
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	found, err := filepath.Glob(filepath.Join(dir, "core*"))
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("the kernel writes no core file into the current folder")
	}
	heaps, err := filepath.Glob(filepath.Join(dir, "out*.heap"))
	require.NoError(t, err)
	require.NotEmpty(t, heaps, "%s", out)
	return heaps[0], found[0]
}

// TestRegisteredCode names code that a program loads by itself and registers for gdb, from a core
// file and from a folder with the object.
func TestRegisteredCode(t *testing.T) {
	needs(t, "cc")
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the program loads objects of 64 bits")
	}
	source, err := filepath.Abs("testdata")
	require.NoError(t, err)
	dir := t.TempDir()
	command(t, dir, nil, "cc", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-stack-protector", "-c", "-o", "generated.o", filepath.Join(source, "generated.c"))
	command(t, dir, nil, "cc", "-g", "-O1", "-o", "host", filepath.Join(source, "host.c"), "-ldl")
	heap, core := crash(t, dir, "./host", "generated.o")

	p, out, errs := named(t, heap)
	require.Zero(t, cum(p, "script_open"))
	require.Regexp(t, `0 +\d+  \[anonymous:[0-9a-f]+\] \(not of a file: -jit and -perf-map`, out)
	require.Empty(t, errs)

	p, out, errs = named(t, heap, "-jit", core)
	require.Empty(t, errs)
	require.EqualValues(t, 100*3000, cum(p, "script_open"), out)
	file, line := lineOf(p, "script_open")
	require.Equal(t, "generated.c", file)
	require.EqualValues(t, 5, line)
	require.Contains(t, out, "generated code, by the registered objects")
	for _, m := range p.Mapping {
		if strings.HasSuffix(m.File, "/host") {
			require.NotEmpty(t, m.BuildID)
		}
	}

	requireFolder(t, dir, heap, core)
	code, _, errs := symbolizeCommand(heap, "-jit", heap)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "neither a folder with objects nor a core file")

	// Another process has its files at other addresses.
	again := t.TempDir()
	command(t, again, nil, "cp", filepath.Join(dir, "host"), filepath.Join(dir, "generated.o"), ".")
	_, other := crash(t, again, "./host", "generated.o")
	code, _, errs = symbolizeCommand(heap, "-jit", other)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "core file of another process")
}

// requireFolder names functions from a folder with the object as it was registered, whose sections
// have addresses, and none from the object as the compiler wrote it.
func requireFolder(t *testing.T, dir, heap, core string) {
	t.Helper()
	objects := filepath.Join(dir, "objects")
	require.NoError(t, os.Mkdir(objects, 0o777))
	written, err := os.ReadFile(filepath.Join(dir, "generated.o"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(objects, "written.o"), written, 0o666))
	code, _, errs := symbolizeCommand(heap, "-jit", objects)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "its code has no address")

	memory, err := os.ReadFile(core)
	require.NoError(t, err)
	// The loader changes only addresses in the object's table of sections, which is not in its
	// first quarter.
	begin := bytes.Index(memory, written[:len(written)/4])
	require.Positive(t, begin)
	require.NoError(t, os.WriteFile(filepath.Join(objects, "registered.o"), memory[begin:][:len(written)], 0o666))
	p, _, errs := named(t, heap, "-jit", objects)
	require.EqualValues(t, 100*3000, cum(p, "script_open"))
	require.Contains(t, errs, "written.o: its code has no address")
}

// TestLLVM names code that LLVM generates and registers for debuggers.
func TestLLVM(t *testing.T) {
	needs(t, "cc", "llvm-config")
	include, err := exec.Command("llvm-config", "--includedir").Output()
	require.NoError(t, err)
	flags, err := exec.Command("llvm-config", "--ldflags", "--libs", "--link-shared").Output()
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(include)), "llvm-c", "Core.h")); err != nil {
		t.Skip("LLVM's headers are not there")
	}
	source, err := filepath.Abs("testdata")
	require.NoError(t, err)
	dir := t.TempDir()
	args := []string{"-O1", "-I" + strings.TrimSpace(string(include)), "-o", "mcjit", filepath.Join(source, "mcjit.c")}
	command(t, dir, nil, "cc", append(append(args, strings.Fields(string(flags))...), "-ldl")...)
	heap, core := crash(t, dir, "./mcjit", filepath.Join(source, "leaf.ll"))
	p, out, errs := named(t, heap, "-jit", core)
	require.EqualValues(t, 100*3000, cum(p, "script_open"), out+errs)
	file, line := lineOf(p, "script_open")
	require.Equal(t, "leaf.script", file)
	require.EqualValues(t, 11, line)
}

// TestNode names code that node generated, by the map that node writes for perf, in a profile with
// addresses of that map. Functions of node's own program keep their symbols.
func TestNode(t *testing.T) {
	needs(t, "node")
	dir := t.TempDir()
	cmd := exec.Command("node", "--perf-basic-prof", "--interpreted-frames-native-stack", "-e", `
		function leakOfTheScript(n) { let a = []; for (let i = 0; i < n; i++) a.push({i}); return a; }
		for (let i = 0; i < 20000; i++) leakOfTheScript(10);
		console.log("ready"); process.stdin.resume(); process.stdin.on("end", () => process.exit(0));`)
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid))
	require.NoError(t, err)
	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait())
	perfMap := fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid)
	text, err := os.ReadFile(perfMap)
	require.NoError(t, err)
	defer func() { _ = os.Remove(perfMap) }()

	found := regexp.MustCompile(`(?m)^([0-9a-f]+) ([0-9a-f]+) (.*leakOfTheScript.*)$`).FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, found)
	last := found[len(found)-1]
	addr, err := strconv.ParseUint(last[1], 16, 64)
	require.NoError(t, err)
	heap := filepath.Join(dir, "out.heap")
	require.NoError(t, os.WriteFile(heap, fmt.Appendf(nil, "heap profile: 1: 10 [ 1: 10] @ heapprofile\n 1: 10 [ 1: 10] @ %#x\n\nMAPPED_LIBRARIES:\n%s", addr+2, maps), 0o666))
	p, out, errs := named(t, heap, "-perf-map", perfMap)
	require.Empty(t, errs)
	require.EqualValues(t, 10, cum(p, last[3]), out)
	require.Contains(t, out, "by the map of perf's")
}
