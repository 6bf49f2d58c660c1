package callrecord

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/envvar"
)

// preloadFlag is the first argument of this program if go test started it. It is no command for
// users.
const preloadFlag = "-preload-native"

// A Preload makes go test start test binaries with the library, by go test's flag -exec: this
// program, Self, inspects each binary and then replaces itself with the program that runs it.
type Preload struct {
	Self    string
	Library string
	Report  string // a file, for a line about each binary that cannot have the library
	Exec    string // the user's own -exec, "" if there is none
}

// Flag returns the value for -exec.
func (p *Preload) Flag() (string, error) {
	users := gotest.SplitQuoted(p.Exec)
	return gotest.JoinQuoted(append([]string{p.Self, preloadFlag, p.Report, p.Library, p.Self, strconv.Itoa(len(users))}, users...))
}

// startsBinary reports whether go test started this process, for a test binary.
func startsBinary(args []string) bool { return len(args) > 5 && args[0] == preloadFlag }

// startBinary replaces this process with the test binary that go test wants to run. It returns,
// with an exit code, only if that fails.
func startBinary(args []string) int {
	err := start(args)
	fmt.Fprintf(os.Stderr, "leakgate: %s: %v\n", preloadFlag, err)
	return 2
}

func start(args []string) error {
	report, library, self := args[1], args[2], args[3]
	n, err := strconv.Atoi(args[4])
	if args = args[5:]; err != nil || n < 0 || n >= len(args) {
		return errors.New("it is called by go test only")
	}
	preload, set := library, envvar.Native.Set(self)
	if before := os.Getenv("LD_PRELOAD"); before != "" {
		preload += ":" + before
	}
	if why := whyNot(args[n]); why != "" {
		if preload, set = "", envvar.Native.Set(None+why); why == NoC {
			set = envvar.Native.Set("") // a test without C code misses nothing
		}
		note(report, why+"\t"+filepath.Base(args[n]))
	}
	var argv, env []string
	if n == 0 {
		argv, env = args, replaced(os.Environ(), set, preload)
	} else { // the user's program may set the environment itself
		argv, env = append(argv, args[:n]...), os.Environ()
		argv = append(argv, "env", set)
		if preload != "" {
			argv = append(argv, "LD_PRELOAD="+preload)
		}
		argv = append(argv, args[n:]...)
	}
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return syscall.Exec(program, argv, env)
}

// replaced returns the environment with leakgate's variable set, and with LD_PRELOAD set unless
// preload is "".
func replaced(environ []string, set, preload string) []string {
	out := append(envvar.Without(environ, envvar.Native), set)
	if preload == "" {
		return out
	}
	for i, entry := range out {
		if strings.HasPrefix(entry, "LD_PRELOAD=") {
			out[i] = "LD_PRELOAD=" + preload
			return out
		}
	}
	return append(out, "LD_PRELOAD="+preload)
}

// None is the prefix of a value of the variable envvar.Native that says why a test has no library.
const None = "none: "

// Reasons why a test binary cannot have the library. Without such a reason, the library is tried.
const (
	NoC        = "the test has no C code"
	static     = "the test is linked statically, and not by -extldflags of -ldflags, so that nothing that records calls is in it; have -static there, or leave it out"
	Sanitizing = "the test has an allocator of a sanitizer (-asan, -msan), which nothing may come before; run it without that, or let LeakSanitizer tell the calls"
)

func whyNot(binary string) string {
	x, err := elf.Open(binary)
	if err != nil {
		return ""
	}
	defer x.Close()
	libraries, _ := x.ImportedLibraries()
	for _, library := range libraries {
		for _, prefix := range []string{"libasan.", "libmsan.", "libtsan.", "libhwasan.", "libclang_rt.asan", "libclang_rt.hwasan"} {
			if strings.HasPrefix(library, prefix) {
				return Sanitizing
			}
		}
	}
	symbols, _ := x.Symbols()
	hasC := false
	for _, s := range symbols {
		if s.Name == "leakgate_native" {
			return "" // linked into it
		}
		hasC = hasC || s.Name == "x_cgo_init"
		if s.Name == "__asan_init" || s.Name == "__msan_init" {
			return Sanitizing
		}
	}
	for _, p := range x.Progs {
		if p.Type == elf.PT_INTERP {
			return ""
		}
	}
	if hasC || len(symbols) == 0 {
		return static
	}
	return NoC
}

// note adds a line to a file. It ignores errors, since the tests can run without the line.
func note(file, line string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		_, _ = f.WriteString(line + "\n")
		_ = f.Close()
	}
}
