package drive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/verdict"
)

// grace is how long a process may exceed its end time, for its last snapshot and its records.
const grace = 15 * time.Second

// A process is what one test process reported.
type process struct {
	began, ended  bool
	killed        bool
	exit          string
	journalFailed bool // the journal could not be written
	tried         []Tried
	groups        []group             // that were explored to their end
	current       *group              // that is being explored
	subtests      map[string][]string // of functions that grew alone
	held          []repeat.Event      // loops that were explored to their end
	hung          string
	hungFor       time.Duration
	output        *output
}

// A group is the functions of an exploration.
type group struct {
	functions []string
	label     string
	lifetimes map[string]repeat.Lifetime
	log       string
}

// start runs one process to its end, and reads its journal. Processes that run at the same time
// have different slots; the names of temporary files go by them.
func (s *state) start(o *repeat.Orders, folder string, slot int) (*process, error) {
	o.GODEBUG = cli.Lookup(s.Env, "GODEBUG")
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	orders := filepath.Join(folder, "orders.json")
	if err := os.WriteFile(orders, data, 0o666); err != nil {
		return nil, err
	}
	// The folder for temporary files is removed with the run, however the tests end. It is empty
	// when a process starts: files in a folder that has too many are not counted.
	temp := filepath.Join(s.Folder, "tmp")
	if slot > 0 {
		temp += fmt.Sprint("-", slot)
	}
	if err := errors.Join(os.RemoveAll(temp), os.MkdirAll(temp, 0o777)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithDeadline(s.ctx, o.End.Add(grace))
	defer cancel()
	args := []string{"-test.run=^" + s.Test + "$", "-test.paniconexit0", "-test.timeout=0"}
	cmd := exec.CommandContext(ctx, s.File, append(args, s.Args...)...)
	cmd.Dir = s.Dir
	cmd.Env = append(s.Env[:len(s.Env):len(s.Env)], "PWD="+s.Dir, envvar.Repeat.Set(orders), "TMPDIR="+temp,
		// The stacks on which go statements lie tell whose goroutines they are.
		"GODEBUG="+strings.TrimPrefix(o.GODEBUG+",tracebackancestors=8", ","))
	p := &process{output: &output{}, subtests: make(map[string][]string)}
	cmd.Stdout, cmd.Stderr = p.output, p.output
	// Processes that tests started and left behind are killed with the test process.
	group := gotest.NewGroup(cmd)
	defer group.Close()
	cmd.Cancel = group.Kill
	cmd.WaitDelay = time.Second
	err = group.Run()
	if cmd.Process != nil {
		_ = group.Kill()
	}
	p.killed = ctx.Err() != nil
	p.exit = cmd.ProcessState.String()
	p.journalFailed = cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == repeat.ExitJournal
	if err != nil && cmd.ProcessState == nil {
		return nil, fmt.Errorf("running the tests: %w", err)
	}
	return p, p.read(o.Journal)
}

// read takes the events of a journal. A line that a killed process did not complete is left out.
func (p *process) read(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e repeat.Event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch e.Event {
		case "begin":
			p.began = true
		case "tried":
			t := Tried{Name: e.Function, Status: e.Status, Took: e.Took, Lingers: e.Lingers}
			if e.Status == repeat.Fails || e.Status == repeat.Once {
				t.Reason = p.output.of(e.Mark)
			}
			p.tried = append(p.tried, t)
		case "explore":
			p.current = &group{functions: e.Functions, label: e.Label}
		case "explored":
			if e.Function != "" { // it failed, and the group is explored without it
				p.tried = append(p.tried, Tried{Name: e.Function, Status: repeat.Once, Reason: p.output.of(e.Mark)})
			} else if p.current != nil {
				p.current.lifetimes, p.current.log = e.Lifetimes, strings.Join(e.Log, "\n")
				p.groups = append(p.groups, *p.current)
			}
			p.current = nil
		case "subtests":
			p.subtests[e.Function] = e.Functions
		case "held":
			if e.Status != repeat.Once {
				p.held = append(p.held, e)
			}
		case "hangs":
			p.hung, p.hungFor = e.Function, e.Took
		case "end":
			p.ended = true
		}
	}
	return lines.Err()
}

func (p *process) lastOutput() string { return p.output.last() }

// whyNotBegun returns why a process ended before its tests.
func (p *process) whyNotBegun() string {
	text := fmt.Sprintf("its test binary ended (%s) before a test began", p.exit)
	if p.killed {
		text = "its test binary did not come to its tests in time"
	}
	if out := p.lastOutput(); out != "" {
		return text + ":\n" + out
	}
	return text + ": a TestMain that does not call m.Run, or an init function that ends it"
}

// ownTemp matches the folder for temporary files of a test process, also where names are folded. To
// the user it is another one in each run.
var ownTemp = regexp.MustCompile(`[^\s"]*/leakgate-auto-[^/\s"]*/p[^/\s"]*/tmp(-[0-9*]+)?(/?)`)

// readRecord returns the record with a label below dir, and its folder.
func readRecord(dir, label string) (*verdict.Result, string, error) {
	var found *verdict.Result
	folder := ""
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != verdict.FileName || found != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var r verdict.Result
		data = ownTemp.ReplaceAll(data, []byte("$$TMPDIR$2"))
		if err := json.Unmarshal(data, &r); err != nil {
			return err
		}
		if r.Test == label {
			found, folder = &r, filepath.Dir(name)
		}
		return nil
	})
	if found == nil && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		err = errNoRecord
	}
	return found, folder, err
}
