package gotest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// keepDWARF makes the linker write symbols and debug information, which "go test" leaves out of a
// binary that it is going to delete (go1.26 cmd/go/internal/load/test.go). The last of several
// equal linker flags wins, so this also undoes a user's -s and -w.
const keepDWARF = "-s=0 -w=0"

// An Invocation is one "go test" over packages.
type Invocation struct {
	Dir      string   // where the go command runs; "" is here
	Env      []string // of the go command
	Packages []string
	Debug    []string // those linked with debug information; nil: all

	Run        string // -run
	Tags       string // -tags
	Timeout    string // -timeout
	Race       bool
	Verbose    bool
	AllocSites bool   // the memory profiler records every allocation
	Exec       string // -exec: what runs test binaries; "": nothing
	// -count; 0 stands for 1: no result may come from the test cache, where its records are lost
	Count int

	// what is added to the user's -extldflags if those link programs statically with the C library
	Static []string

	Passthrough Passthrough
	GOFLAGS     string // as the go command sees it: its -ldflags and -tags would be lost otherwise
}

// Args returns the go command's arguments. The user's flags come after the packages: there the go
// command passes flags that it does not know to the test binary.
func (inv *Invocation) Args() []string {
	args := []string{"test", "-json", "-count=" + strconv.Itoa(max(inv.Count, 1))}
	args = append(args, inv.ldflags()...)
	for _, f := range []struct{ name, value string }{
		{"run", inv.Run},
		{"tags", inv.tags()},
		{"timeout", inv.Timeout},
	} {
		if f.value != "" {
			args = append(args, "-"+f.name+"="+f.value)
		}
	}
	if inv.Race {
		args = append(args, "-race")
	}
	if inv.Verbose {
		args = append(args, "-v")
	}
	if inv.AllocSites {
		args = append(args, "-memprofilerate=1")
	}
	if exec := cmp.Or(inv.Exec, inv.UsersExec()); exec != "" {
		args = append(args, "-exec="+exec)
	}
	args = append(args, inv.Packages...)
	return append(args, inv.Passthrough.Args...)
}

// ldflags returns the -ldflags arguments. The go command uses the last one whose package pattern
// matches. So leakgate's is first, for packages that no pattern of the user's matches, and each of
// the user's is repeated with keepDWARF added: GOFLAGS first, since the command line overrides it.
//
// Packages can be left without debug information, which takes time to link, only if the user gives
// no -ldflags.
func (inv *Invocation) ldflags() []string {
	users := inv.usersLDFlags()
	if len(users) == 0 && inv.Debug != nil {
		var out []string
		for _, p := range inv.Debug {
			out = append(out, "-ldflags="+p+"="+keepDWARF)
		}
		return out
	}
	out := []string{"-ldflags=" + keepDWARF}
	for _, v := range users {
		if len(inv.Static) > 0 {
			v, _ = addToStatic(v, inv.Static)
		}
		out = append(out, "-ldflags="+strings.TrimSpace(v+" "+keepDWARF))
	}
	return out
}

func (inv *Invocation) usersLDFlags() []string {
	return append(inGOFLAGS(inv.GOFLAGS, "ldflags"), inv.Passthrough.LDFlags...)
}

// tags returns the user's build tags. The go command takes the last -tags, and the command line
// overrides GOFLAGS.
func (inv *Invocation) tags() string {
	all := inGOFLAGS(inv.GOFLAGS, "tags")
	if inv.Tags != "" {
		all = append(all, inv.Tags)
	}
	all = append(all, inv.Passthrough.Tags...)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// BuildFlags returns the flags that "go list" needs to see the packages as this go test will.
func (inv *Invocation) BuildFlags() []string {
	var flags []string
	if tags := inv.tags(); tags != "" {
		flags = append(flags, "-tags="+tags)
	}
	if inv.Race {
		flags = append(flags, "-race")
	}
	return append(flags, inv.Passthrough.Build...)
}

// GoEnv has variables that "go env" prints.
type GoEnv struct {
	GOVERSION string // of the toolchain that dir's module selects
	GOFLAGS   string
	GOOS      string
	GOARCH    string

	GOMOD  string // the go.mod of dir, os.DevNull if there is none
	GOWORK string

	CC         string // the C compiler, with flags
	CGOEnabled string `json:"CGO_ENABLED"` // "1" or "0"
}

var release = regexp.MustCompile(`^go1\.\d+(\.\d+|rc\d+)?$`)

// IsRelease reports whether a toolchain is one that the go command can select by its name.
func IsRelease(toolchain string) bool { return release.MatchString(toolchain) }

// orHere returns dir, or "." for "".
func orHere(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// ReadModuleEnv is ReadGoEnv for a command that needs a module in dir or above.
func ReadModuleEnv(dir string, env []string) (GoEnv, error) {
	e, err := ReadGoEnv(dir, env)
	if err == nil && (e.GOMOD == os.DevNull || e.GOMOD == "") && (e.GOWORK == "" || e.GOWORK == "off") {
		err = fmt.Errorf("there is no go.mod in %s or above: change to the folder of a module, or type there: go mod init example.com/yourmodule", orHere(dir))
	}
	return e, err
}

// ReadGoEnv asks the go command in dir. It runs one process (about 10 ms).
func ReadGoEnv(dir string, env []string) (GoEnv, error) {
	if info, err := os.Stat(orHere(dir)); err != nil || !info.IsDir() {
		return GoEnv{}, fmt.Errorf("-C %s: there is no such directory", dir)
	}
	cmd := exec.Command("go", "env", "-json", "GOVERSION", "GOFLAGS", "GOOS", "GOARCH", "CC", "CGO_ENABLED", "GOMOD", "GOWORK")
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return GoEnv{}, errors.New("no go command in PATH: leakgate needs the Go toolchain")
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return GoEnv{}, fmt.Errorf("go env: %s", strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return GoEnv{}, fmt.Errorf("go env: %w", err)
	}
	var e GoEnv
	if err := json.Unmarshal(out, &e); err != nil {
		return GoEnv{}, fmt.Errorf("go env: %w", err)
	}
	return e, nil
}
