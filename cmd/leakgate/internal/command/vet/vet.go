// Package vet is the command that finds mistakes in tests that use leakcheck.
package vet

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/goldens"
	"github.com/leakgate/leakgate/cmd/leakgate/leakvet"
)

// Options is the command line of leakgate vet.
type Options struct {
	dir      string // -C
	fix      bool
	tags     string
	patterns []string
}

// FlagSet binds the flags to o.
func (o *Options) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("vet")
	f.StringVar(&o.dir, "C", "", "")
	f.BoolVar(&o.fix, "fix", false, "")
	f.StringVar(&o.tags, "tags", "", "")
	return f
}

// Parse reads the command line.
func Parse(args []string) (*Options, error) {
	o := new(Options)
	var err error
	if o.patterns, err = cli.ParseMixed(o.FlagSet(), args); err != nil {
		return nil, err
	}
	if len(o.patterns) == 0 {
		o.patterns = []string{"."}
	}
	return o, nil
}

// IsTool reports whether the go command calls this program as its vet tool: "go vet -vettool" asks
// for the version and the flags, then names a file for each package (go1.26 cmd/go/internal/vet).
func IsTool(args []string) bool {
	if len(args) == 0 {
		return false
	}
	return args[0] == "-V=full" || args[0] == "-flags" || strings.HasSuffix(args[len(args)-1], ".cfg")
}

// Tool runs the program as a vet tool. It does not return.
func Tool() { unitchecker.Main(leakvet.Analyzer) }

// Run is the command "leakgate vet".
func Run(c *cli.Context, args []string) int {
	o, err := Parse(args)
	if err != nil {
		return c.Unparsed(err, "vet")
	}
	if o.fix {
		if _, err := o.goVet(c, "-fix"); err != nil {
			return c.Failure("%v", err)
		}
	}
	out, err := o.goVet(c, "-json")
	if err != nil {
		return c.Failure("%v", err)
	}
	found, err := readFindings(out)
	if err != nil {
		return c.Failure("%v", err)
	}
	for _, f := range found {
		fmt.Fprintf(c.Stdout, "%s: %s\n", cli.Shown(f.Posn), f.Message)
	}
	if len(found) > 0 {
		return cli.Findings
	}
	return cli.Pass
}

// goVet runs "go vet" with this program as its tool, and returns its output.
func (o *Options) goVet(c *cli.Context, mode string) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	state, err := o.goldenState(c)
	if err != nil {
		return nil, err
	}
	args := []string{"vet", "-vettool=" + self, "-leakcheck.goldens=" + state, mode}
	if o.tags != "" {
		args = append(args, "-tags="+o.tags)
	}
	args = append(args, "--")
	cmd := exec.Command("go", append(args, o.patterns...)...)
	cmd.Dir, cmd.Env = o.dir, c.Env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, errors.New("no go command in PATH: leakgate vet needs the Go toolchain")
	}
	if err != nil {
		return nil, fmt.Errorf("go vet: %w\n%s", err, strings.TrimSpace(stderr.String()))
	}
	return append(stdout.Bytes(), stderr.Bytes()...), nil
}

// goldenState returns a hash of the paths of the packages' golden files: the go command caches
// findings, and does not know that they depend on these files.
func (o *Options) goldenState(c *cli.Context) (string, error) {
	folders, err := goldens.Packages(goldens.Config{Dir: o.dir, Env: c.Env}, o.patterns)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, folder := range folders {
		files, err := goldens.Find(folder, func() bool { return true })
		if err != nil {
			return "", err
		}
		for _, f := range files {
			fmt.Fprintf(h, "%s\n", f.Path)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// A vetFinding is a diagnostic as "go vet -json" writes it.
type vetFinding struct {
	Posn    string `json:"posn"`
	Message string `json:"message"`
}

// readFindings reads the output of "go vet -json": for each package a line "# path", and an object.
// The object has one object for each package, with one entry for each analyzer: a list or an error.
// A file may be in several variants of a package; its findings are reported once.
func readFindings(out []byte) ([]vetFinding, error) {
	var text bytes.Buffer
	for line := range bytes.Lines(out) {
		if !bytes.HasPrefix(line, []byte("#")) {
			text.Write(line)
		}
	}
	seen := make(map[vetFinding]bool)
	var all []vetFinding
	for dec := json.NewDecoder(&text); ; {
		var packages map[string]map[string]json.RawMessage
		err := dec.Decode(&packages)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("go vet -json: %w", err)
		}
		for path, analyzers := range packages {
			for _, raw := range analyzers {
				var found []vetFinding
				if err := json.Unmarshal(raw, &found); err != nil {
					return nil, fmt.Errorf("vetting %s: %s", path, raw)
				}
				for _, f := range found {
					if !seen[f] {
						seen[f] = true
						all = append(all, f)
					}
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b vetFinding) int {
		fileA, lineA, columnA := a.place()
		fileB, lineB, columnB := b.place()
		return cmp.Or(cmp.Compare(fileA, fileB), cmp.Compare(lineA, lineB), cmp.Compare(columnA, columnB), cmp.Compare(a.Message, b.Message))
	})
	return all, nil
}

// place takes "file:line:column" apart.
func (f vetFinding) place() (file string, line, column int) {
	file = f.Posn
	for _, n := range []*int{&column, &line} {
		i := strings.LastIndexByte(file, ':')
		if i < 0 {
			return f.Posn, 0, 0
		}
		*n, _ = strconv.Atoi(file[i+1:])
		file = file[:i]
	}
	return file, line, column
}
