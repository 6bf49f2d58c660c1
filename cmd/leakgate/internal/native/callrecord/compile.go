package callrecord

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/wholefile"
)

//go:embed source/shim.c
var source []byte

// filePrefix begins the compiled files' names. nativecalls.LibraryPrefix and the function hide
// in shim.c rely on it.
const filePrefix = "libleakgate-native-"

// compileTime is how long a compiler may take. It takes about 0.2 s.
const compileTime = time.Minute

// A form is a kind of file that the source is compiled to.
type form struct {
	flags []string
	ext   string
	probe string // a C program that exits with 0 if the compiled file is in it
	args  func(file string) []string
	env   func(file string) []string // with which the program runs
}

// library is for dynamically linked programs, which preload it. object is linked into statically
// linked programs, which contain the C library.
var (
	library = &form{
		flags: []string{"-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-builtin", "-w", "-ldl", "-Wl,-z,defs"}, ext: ".so",
		probe: `#define _GNU_SOURCE
#include <dlfcn.h>
int main(void) { return dlsym(RTLD_DEFAULT, "leakgate_native") ? 0 : 9; }
`,
		args: func(string) []string { return []string{"-ldl"} },
		env:  func(file string) []string { return []string{"LD_PRELOAD=" + file} },
	}
	object = &form{
		flags: []string{"-O2", "-fPIC", "-c", "-fvisibility=hidden", "-fno-builtin", "-w", "-DLEAKGATE_LINKED"}, ext: ".o",
		probe: `#include <stdlib.h>
extern char leakgate_native;
int main(void) {
	void *volatile p = malloc(1);
	free(p);
	return *(volatile unsigned long *)&leakgate_native ? 0 : 9;
}
`,
		args: func(file string) []string { return append([]string{"-static"}, Linked(file)...) },
		env:  func(string) []string { return nil },
	}
)

// Linked returns the linker flags with which a statically linked program records calls by an
// object.
func Linked(object string) []string {
	wraps := "-Wl"
	for _, f := range []string{"malloc", "calloc", "realloc", "free", "memalign", "aligned_alloc", "posix_memalign", "valloc", "pvalloc", "mmap", "mmap64", "munmap", "mremap"} {
		wraps += ",--wrap=" + f
	}
	return []string{object, wraps}
}

// fallbackFlags are additions to the flags, in the order in which compile tries them: first none,
// then, for a compiler without an unwinder, a flag that records only the direct callers of malloc.
var fallbackFlags = [][]string{nil, {"-DLEAKGATE_NO_UNWINDER"}}

// Compile returns the path of the library in folder. It compiles the library unless the folder has
// one from the same compiler already. cc is a command with its flags, as "go env CC" has it. Errors
// name a remedy.
func Compile(ctx context.Context, cc, folder string) (file string, err error) {
	return library.file(ctx, cc, folder)
}

// CompileObject is Compile for programs that are linked statically; see Linked.
func CompileObject(ctx context.Context, cc, folder string) (file string, err error) {
	return object.file(ctx, cc, folder)
}

func (f *form) file(ctx context.Context, cc, folder string) (file string, err error) {
	words := gotest.SplitQuoted(cc)
	if len(words) == 0 {
		return "", errors.New("there is no C compiler: install gcc or clang, or set CC (go env -w CC=...)")
	}
	compiler, err := exec.LookPath(words[0])
	if err != nil {
		return "", fmt.Errorf("there is no C compiler %s: install it, or set CC (go env -w CC=...)", words[0])
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", err
	}
	if strings.ContainsAny(folder, " :\t\n") { // these separate names in LD_PRELOAD
		return "", fmt.Errorf("the folder %q cannot be named in LD_PRELOAD, since it has a space or a colon: set LEAKGATE_CACHE to another one", folder)
	}
	info, err := os.Stat(compiler)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%d\x00%s\x00%q\x00%q\x00%s", cc, compiler, info.Size(), info.ModTime(), f.flags, fallbackFlags, f.probe)
	h.Write(source)
	file = filepath.Join(folder, filePrefix+hex.EncodeToString(h.Sum(nil))[:16]+f.ext)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	return file, f.compile(ctx, words, file)
}

func (f *form) compile(ctx context.Context, cc []string, file string) error {
	ctx, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	work, err := os.MkdirTemp("", "leakgate-native-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	in, out := filepath.Join(work, "shim.c"), filepath.Join(work, filePrefix+"new"+f.ext)
	if err := os.WriteFile(in, source, 0o666); err != nil {
		return err
	}
	var first error
	for _, more := range fallbackFlags {
		args := slices.Concat(cc[1:], []string{"-o", out, in}, f.flags, more)
		said, err := gotest.Output(ctx, "", nil, cc[0], args...)
		if err == nil {
			said, err = f.try(ctx, cc, out)
		}
		if err == nil {
			text, err := os.ReadFile(out)
			if err != nil {
				return err
			}
			return wholefile.WriteData(file, 0o777, text)
		}
		if first == nil {
			first = fmt.Errorf("the C compiler %s fails: %w: %s", cc[0], err, firstLine(said))
		}
	}
	return fmt.Errorf("%w; with CC=gcc or CC=clang another one is taken", first)
}

// try runs a program of the same compiler with the compiled file, before a test does. A test would
// not start if the file cannot be loaded, such as with a C library that it was not made for.
func (f *form) try(ctx context.Context, cc []string, file string) (said []byte, err error) {
	in, out := file+".c", file+".probe"
	if err := os.WriteFile(in, []byte(f.probe), 0o666); err != nil {
		return nil, err
	}
	if said, err = gotest.Output(ctx, "", nil, cc[0], slices.Concat(cc[1:], []string{"-w", "-o", out, in}, f.args(file))...); err != nil {
		return said, err
	}
	if said, err = gotest.Output(ctx, "", append(os.Environ(), f.env(file)...), out); err != nil {
		err = fmt.Errorf("a program with what it made ends with %w", err)
	}
	return said, err
}

// firstLine returns the first line with an error, else the first line.
func firstLine(said []byte) string {
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	for _, line := range lines {
		if strings.Contains(line, "error") {
			return line
		}
	}
	return lines[0]
}
