package runtests

import (
	gocontext "context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/callrecord"
	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/textfmt"
)

// nativeRun is what -native needs for a run: a folder, for the library if the cache cannot keep it,
// and for reports about test binaries.
type nativeRun struct {
	folder string
	cause  error // why no calls are recorded; nil if they are
}

// recordNative has an invocation start its tests with the library that records calls of C code. If
// that is impossible, tests run without it, and each finding that would need it says why.
func recordNative(inv *gotest.Invocation, e gotest.GoEnv, env []string) (*nativeRun, error) {
	dir, err := os.MkdirTemp("", "leakgate-native-")
	if err != nil {
		return nil, fmt.Errorf("-native: %w", err)
	}
	n := &nativeRun{folder: dir}
	var library string
	if library, n.cause = compileShim(inv, e, env, dir, callrecord.Compile); n.cause == nil && inv.LinksStatically() {
		var object string
		if object, n.cause = compileShim(inv, e, env, dir, callrecord.CompileObject); n.cause == nil {
			inv.Static = callrecord.Linked(object)
		}
	}
	if n.cause != nil {
		inv.Env = append(inv.Env, envvar.Native.Set(callrecord.None+n.cause.Error()))
		return n, nil
	}
	self, err := os.Executable()
	if err == nil {
		p := callrecord.Preload{Self: self, Library: library, Report: n.report(), Exec: inv.UsersExec()}
		inv.Exec, err = p.Flag()
	}
	if err != nil {
		n.close()
		return nil, fmt.Errorf("-native: %w", err)
	}
	return n, nil
}

// compileShim compiles what records calls. The file is kept in the user's cache folder, if
// possible.
func compileShim(inv *gotest.Invocation, e gotest.GoEnv, env []string, temporary string, compile func(_ gocontext.Context, cc, folder string) (string, error)) (file string, err error) {
	if e.GOOS != "linux" || e.GOARCH != "amd64" && e.GOARCH != "arm64" {
		return "", fmt.Errorf("calls of C code are not recorded on %s/%s; run the tests on linux/amd64 or linux/arm64", e.GOOS, e.GOARCH)
	}
	for _, name := range []string{"asan", "msan"} {
		if value, ok := inv.Flag(name); ok && value != "false" {
			return "", errors.New(callrecord.Sanitizing)
		}
	}
	if e.CGOEnabled == "0" {
		return "", errors.New("CGO_ENABLED=0, so that tests have no C code; set it to 1, which needs a C compiler")
	}
	folder := temporary
	if cache := cli.Lookup(env, envvar.Cache.Name()); cache != "" && cache != "off" {
		folder = filepath.Join(cache, "native")
	} else if base, err := os.UserCacheDir(); err == nil && cache == "" {
		folder = filepath.Join(base, "leakgate", "native")
	}
	file, err = compile(gocontext.Background(), e.CC, folder)
	if err != nil && folder != temporary {
		file, err = compile(gocontext.Background(), e.CC, temporary)
	}
	return file, err
}

func (n *nativeRun) report() string { return filepath.Join(n.folder, "report") }

func (n *nativeRun) close() { _ = os.RemoveAll(n.folder) }

// notes say which tests ran without the library. Tests without C code are mentioned only if no test
// has any.
func (n *nativeRun) notes(packages int) (notes []string) {
	if n.cause != nil {
		return []string{"-native: calls of C code were not recorded: " + n.cause.Error()}
	}
	text, _ := os.ReadFile(n.report())
	without := make(map[string][]string)
	for line := range strings.Lines(string(text)) {
		why, binary, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !slices.Contains(without[why], binary) {
			without[why] = append(without[why], binary)
		}
	}
	for why, binaries := range without {
		switch {
		case why != callrecord.NoC:
			notes = append(notes, fmt.Sprintf("-native: calls of C code were not recorded in %s: %s", textfmt.Enumerate(binaries), why))
		case len(binaries) >= packages:
			notes = append(notes, "-native: no test has C code, so there were no calls to record")
		}
	}
	slices.Sort(notes)
	return notes
}
