package callrecord

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
)

func needsCompiler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("cc is not installed")
	}
}

// TestCompile checks that each compiler compiles the library once, and leaves one file.
func TestCompile(t *testing.T) {
	needsCompiler(t)
	folder := filepath.Join(t.TempDir(), "native")
	file, err := Compile(context.Background(), "cc", folder)
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	again, err := Compile(context.Background(), "cc", folder)
	require.NoError(t, err)
	require.Equal(t, file, again)
	same, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, info.ModTime(), same.ModTime())
	other, err := Compile(context.Background(), "cc -g '-DA=b c'", folder)
	require.NoError(t, err)
	require.NotEqual(t, file, other)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

// TestCompileFails checks that each error names a remedy.
func TestCompileFails(t *testing.T) {
	folder := t.TempDir()
	_, err := Compile(context.Background(), "", folder)
	require.EqualError(t, err, "there is no C compiler: install gcc or clang, or set CC (go env -w CC=...)")
	_, err = Compile(context.Background(), "no-such-compiler -m64", folder)
	require.EqualError(t, err, "there is no C compiler no-such-compiler: install it, or set CC (go env -w CC=...)")
	_, err = Compile(context.Background(), "false", folder)
	require.ErrorContains(t, err, "the C compiler false fails: exit status 1")
	require.ErrorContains(t, err, "CC=clang")
	_, err = Compile(context.Background(), "true", filepath.Join(folder, "a b"))
	require.ErrorContains(t, err, "set LEAKGATE_CACHE to another one")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// TestMusl compiles for another C library, which does not have all symbols that the compiler's
// unwinder needs.
func TestMusl(t *testing.T) {
	if _, err := exec.LookPath("musl-gcc"); err != nil {
		t.Skip("musl-gcc is not installed")
	}
	file, err := Compile(context.Background(), "musl-gcc", t.TempDir())
	require.NoError(t, err)
	said, err := library.try(context.Background(), []string{"musl-gcc"}, file)
	require.NoError(t, err, "%s", said)
}

// TestNotLoaded expects an error for a compiler whose programs cannot load a library.
func TestNotLoaded(t *testing.T) {
	needsCompiler(t)
	cc := filepath.Join(t.TempDir(), "cc-static")
	require.NoError(t, os.WriteFile(cc, []byte("#!/bin/sh\ncase \"$*\" in *-shared*) exec cc \"$@\" ;; esac\nexec cc -static \"$@\"\n"), 0o777))
	_, err := Compile(context.Background(), cc, t.TempDir())
	require.ErrorContains(t, err, "a program with what it made ends with exit status 9")
}

// TestWithoutUnwinder expects the fallback that needs no unwinder.
func TestWithoutUnwinder(t *testing.T) {
	needsCompiler(t)
	cc := filepath.Join(t.TempDir(), "cc-without-unwinder")
	require.NoError(t, os.WriteFile(cc, []byte("#!/bin/sh\ncase \"$*\" in *LEAKGATE_NO_UNWINDER* | *probe*) exec cc \"$@\" ;; esac\necho 'error: unwind.h is not there'\nexit 1\n"), 0o777))
	file, err := Compile(context.Background(), cc, t.TempDir())
	require.NoError(t, err)
	out, err := exec.Command("ldd", file).CombinedOutput()
	if err == nil {
		require.NotContains(t, string(out), "libgcc_s")
	}
}

// TestPrograms runs programs that allocate much, in threads and child processes, with the library.
// Their output must be the same as without it.
func TestPrograms(t *testing.T) {
	needsCompiler(t)
	for _, flags := range []string{"", " -DLEAKGATE_NO_UNWINDER"} {
		file, err := Compile(context.Background(), "cc"+flags, t.TempDir())
		require.NoError(t, err)
		for _, script := range []string{"ls -lR /usr/include | sort | tail -n 3", "sh -c 'env | grep -c LD_PRELOAD'; cc --version", "awk 'BEGIN { for (i = 0; i < 100000; i++) a[i] = i; print length(a) }'"} {
			want, wantErr := exec.Command("sh", "-c", script).CombinedOutput()
			cmd := exec.Command("sh", "-c", script)
			cmd.Env = append(os.Environ(), "LD_PRELOAD="+file)
			got, err := cmd.CombinedOutput()
			require.Equal(t, wantErr, err)
			require.Equal(t, string(want), string(got))
		}
	}
}

// TestObject links programs with the object, and checks that they work and need no preloading.
func TestObject(t *testing.T) {
	needsCompiler(t)
	for _, flags := range []string{"", " -DLEAKGATE_NO_UNWINDER"} {
		dir := t.TempDir()
		file, err := CompileObject(context.Background(), "cc"+flags, dir)
		require.NoError(t, err)
		source := filepath.Join(dir, "x.c")
		require.NoError(t, os.WriteFile(source, []byte(allocator), 0o666))
		for _, static := range []string{"-static", "-static-pie"} {
			program := filepath.Join(dir, "x"+static)
			said, err := exec.Command("cc", append([]string{"-O2", "-fPIE", static, "-w", "-o", program, source}, Linked(file)...)...).CombinedOutput()
			require.NoError(t, err, "%s", said)
			out, err := exec.Command(program).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Equal(t, "as it should be\n", string(out))
			require.Empty(t, whyNot(program))
		}
	}
}

// allocator calls, in threads, all functions that the object wraps.
const allocator = `#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int x_cgo_init;
static void *work(void *arg) {
	for (int i = 0; i < 2000; i++) {
		size_t n = 1 + i % 700;
		char *all[] = {malloc(n), calloc(1, n), realloc(malloc(7), n), reallocarray(NULL, n, 2), memalign(64, n), aligned_alloc(64, 64 * n), valloc(n), pvalloc(n), strdup("text"), NULL};
		if (posix_memalign((void **)&all[9], 64, n)) return arg;
		for (int k = 0; k < 10; k++) {
			if (!all[k]) return arg;
			if (k != 8) memset(all[k], k, n);
		}
		if (strcmp(all[8], "text")) return arg;
		for (int k = 0; k < 10; k++) free(all[k]);
	}
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || (p[0] = 1, p = mremap(p, 8192, 16384, MREMAP_MAYMOVE)) == MAP_FAILED || p[0] != 1 || munmap(p, 16384)) return arg;
	return NULL;
}
int main(void) {
	pthread_t t[4];
	void *failed = NULL, *one;
	for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, work, "failed");
	for (int i = 0; i < 4; i++) { pthread_join(t[i], &one); if (one) failed = one; }
	puts(failed ? "failed" : "as it should be");
	return 0;
}
`

func TestFlag(t *testing.T) {
	p := Preload{Self: "/a b/leakgate", Library: "/lib/x.so", Report: "/tmp/report", Exec: `env 'A=b c' nice`}
	flag, err := p.Flag()
	require.NoError(t, err)
	words := gotest.SplitQuoted(flag)
	require.Equal(t, []string{"/a b/leakgate", "-preload-native", "/tmp/report", "/lib/x.so", "/a b/leakgate", "3", "env", "A=b c", "nice"}, words)
	require.True(t, Asked(append(words[1:], "x.test")))
	require.False(t, Asked([]string{"run", "./..."}))
	_, err = (&Preload{Self: `'"`}).Flag()
	require.ErrorContains(t, err, "quotes of both kinds")
}

func TestReplaced(t *testing.T) {
	env := []string{"A=1", "LD_PRELOAD=x.so", "LEAKGATE_NATIVE=old"}
	require.Equal(t, []string{"A=1", "LD_PRELOAD=y.so:x.so", "LEAKGATE_NATIVE=new"}, replaced(env, "LEAKGATE_NATIVE=new", "y.so:x.so"))
	require.Equal(t, []string{"A=1", "LD_PRELOAD=x.so", "LEAKGATE_NATIVE=new"}, replaced(env, "LEAKGATE_NATIVE=new", ""))
	require.Equal(t, []string{"A=1", "n", "LD_PRELOAD=y.so"}, replaced([]string{"A=1"}, "n", "y.so"))
}

// TestWhyNot checks which binaries cannot have the library, and the reasons.
func TestWhyNot(t *testing.T) {
	needsCompiler(t)
	dir := t.TempDir()
	build := func(text string, args ...string) string {
		source, out := filepath.Join(dir, "x.c"), filepath.Join(dir, "x")
		require.NoError(t, os.WriteFile(source, []byte(text), 0o666))
		if said, err := exec.Command("cc", append([]string{"-o", out, source}, args...)...).CombinedOutput(); err != nil {
			t.Logf("%v: %s", err, said)
			return ""
		}
		return out
	}
	const plain, cgo = "int main(void) { return 0; }", "int x_cgo_init; int main(void) { return 0; }"
	for _, tt := range []struct {
		text string
		args []string
		want string
	}{
		{plain, nil, ""},
		{cgo, nil, ""},
		{cgo, []string{"-static"}, static},
		{plain, []string{"-static"}, NoC},
		{plain, []string{"-static", "-s"}, static},
		{cgo, []string{"-fsanitize=address"}, Sanitizing},
	} {
		if binary := build(tt.text, tt.args...); binary != "" {
			require.Equal(t, tt.want, whyNot(binary), "%q", tt.args)
		}
	}
	require.Empty(t, whyNot(filepath.Join(dir, "x.c")))
	require.Empty(t, whyNot(filepath.Join(dir, "nothing")))
	note(filepath.Join(dir, "report"), "a")
	note(filepath.Join(dir, "report"), "b")
	text, err := os.ReadFile(filepath.Join(dir, "report"))
	require.NoError(t, err)
	require.Equal(t, "a\nb\n", string(text))
}
