//go:build amd64 || arm64

package memory

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A run is one call of a verb in a process of its own, with a limit.
type run struct {
	shape, verb string
	megabytes   int
	limit       int64   // in bytes; 0: none
	factor      float64 // of the resident size, which gives the limit; 0: limit stands
	decided     bool    // there is to be a verdict
}

// An outcome is what became of a run.
type outcome struct {
	run
	resident, peak int64 // bytes
	kills          int64
	code           int
	took           time.Duration
	output         string
}

const (
	pass    = "pass"
	fail    = "fail"
	unknown = "unknown"
	killed  = "killed"
	ended   = "ended" // in another way than a test does
)

// verdict tells what a run's output says. Where the kernel killed another process of the group,
// that was the frozen copy of the program, which asks to be killed first.
func (o *outcome) verdict() string {
	switch {
	case o.code != 0 && o.code != 1 && o.kills > 0:
		return killed
	case o.code == 0 && strings.Contains(o.output, "--- PASS"):
		return pass
	case o.code != 1 || !strings.Contains(o.output, "--- FAIL"):
		return ended
	case strings.Contains(o.output, "UNKNOWN"):
		return unknown
	}
	return fail
}

// want is the verdict where memory is ample.
func (r *run) want() string {
	if strings.HasSuffix(r.verb, " red") {
		return fail
	}
	return pass
}

// program is the test binary of testdata/program.
type program struct{ binary, folder string }

func build(t *testing.T) program {
	p := program{folder: t.TempDir()}
	p.binary = filepath.Join(p.folder, "memory.test")
	cmd := exec.Command("go", "test", "-c", "-o", p.binary, ".")
	cmd.Dir = "testdata/program"
	cmd.Env = append(os.Environ(), "GOWORK=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return p
}

// timeout bounds a run: one that comes near hangs.
const timeout = time.Minute

// do runs a verb.
func (p program) do(r run) (*outcome, error) {
	g, err := newGroup()
	if err != nil {
		return nil, err
	}
	defer g.remove()
	o := &outcome{run: r}
	cmd := exec.Command("sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(g.folder, "cgroup.procs"),
		p.binary, "-test.v", "-test.run=^TestInGroup$", "-test.timeout="+timeout.String())
	cmd.Dir = p.folder
	cmd.Env = append(os.Environ(), "MEMORY_SHAPE="+r.shape, "MEMORY_VERB="+r.verb, "MEMORY_SIZE="+strconv.Itoa(r.megabytes),
		"LEAKGATE_STRICT=1", "LEAKGATE_CACHE="+filepath.Join(p.folder, "cache"))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var errors bytes.Buffer
	cmd.Stderr = &errors
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stdout)
	for o.resident == 0 {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("the program did not start: %w", err)
		}
		o.resident, _ = strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	}
	if r.factor > 0 {
		o.limit = int64(r.factor * float64(o.resident))
	}
	if o.limit > 0 {
		if err := g.limit(o.limit); err != nil {
			return nil, fmt.Errorf("limiting %d bytes to %d: %w", o.resident, o.limit, err)
		}
	}
	started := time.Now()
	_, _ = io.WriteString(stdin, "go\n")
	rest, _ := io.ReadAll(lines)
	_ = cmd.Wait() // the exit code tells
	o.took = time.Since(started)
	o.code, o.kills, o.peak = cmd.ProcessState.ExitCode(), g.kills(), g.peak()
	o.output = string(rest) + errors.String()
	return o, nil
}

// all does runs, several at the same time, and calls done for each, one after another.
func (p program) all(t *testing.T, runs []run, done func(*outcome)) {
	todo := make(chan run)
	var workers sync.WaitGroup
	var mu sync.Mutex
	for range 3 { // each waits for some of its time
		workers.Go(func() {
			for r := range todo {
				o, err := p.do(r)
				mu.Lock()
				if err != nil {
					t.Errorf("%s, %s: %v", r.shape, r.verb, err)
				} else {
					done(o)
				}
				mu.Unlock()
			}
		})
	}
	for _, r := range runs {
		todo <- r
	}
	close(todo)
	workers.Wait()
}

var (
	shapes = []string{"list", "tree", "maps", "texts", "goroutines"}
	// The verbs, and from how many times the resident size on there is a verdict; 0: none is
	// demanded. To be red takes several snapshots, and what they leave: there it is redMore times
	// as much.
	verbs = []struct {
		name    string
		decided float64
	}{
		{"root", 2.4},
		{"paths", 0},
		{"type", 2},
		{"scope", 0},
		{"retained", 0},
		{"since", 0},
		{"growth", 2.2},
		{"growth goroutines", 0},
		{"expect", 2},
		{"collected", 0},
		{"allocs", 0},
		{"peak", 0},
		{"none leaked", 0},
	}
	limits = []float64{1.2, 1.35, 1.5, 1.65, 1.8, 2, 2.2, 2.4, 2.7, 3, 3.5, 4} // times the resident size
)

const redMore = 1.4

// isTold reports whether a verb can be red for a shape: a channel that goroutines wait for is not
// retained by its variable alone.
func isTold(shape, verb string) bool { return shape != "goroutines" || verb != "retained" }

// matrix lists the runs of verbs without a limit, and those with limits. Green and red ones take
// turns from limit to limit.
func matrix() (first, limited []run) {
	for i, shape := range shapes {
		for k, verb := range verbs {
			megabytes := 10
			if verb.decided > 0 {
				megabytes = 24
			}
			for _, color := range []string{"", " red"} {
				if color == "" || isTold(shape, verb.name) {
					first = append(first, run{shape: shape, verb: verb.name + color, megabytes: megabytes})
				}
			}
			for n, limit := range limits {
				r, least := run{shape: shape, verb: verb.name, megabytes: megabytes, factor: limit}, verb.decided
				if (i+k+n)%2 != 0 && isTold(shape, verb.name) {
					r.verb, least = r.verb+" red", redMore*least
				}
				if shape == "goroutines" {
					least *= redMore // a scan takes 3 KB of the heap for each
				}
				r.decided = least > 0 && limit >= least
				limited = append(limited, r)
			}
		}
	}
	return first, limited
}

// A tally has the runs that went wrong, so that a test's last lines say what failed, and not
// thousands of lines among those of runs that went well.
type tally struct{ lines, outputs []string }

// judge logs a line for a run, and keeps it as wrong unless its verdict is one of right.
func (w *tally) judge(t *testing.T, o *outcome, right ...string) {
	line := fmt.Sprintf("%-10s %-21s %s: %s", o.shape, o.verb, o.sizes(), o.verdict())
	t.Log(line)
	if slices.Contains(right, o.verdict()) {
		return
	}
	line = fmt.Sprintf("WRONG %s, wanted %s; exit code %d, %d killed; %s\n", line, strings.Join(right, " or "), o.code, o.kills, o.cause())
	w.lines = append(w.lines, line)
	w.outputs = append(w.outputs, line+indented(o.output, 30))
}

// report fails the test if a run went wrong, with what each of them printed, and then a line for
// each, which are the last that the test prints.
func (w *tally) report(t *testing.T) {
	if len(w.lines) > 0 {
		t.Errorf("what they printed:\n%s\n%d runs went wrong:\n%s", strings.Join(w.outputs, ""), len(w.lines), strings.Join(w.lines, ""))
	}
}

// indented returns the first lines of a text, indented.
func indented(text string, most int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if most--; most < 0 {
			b.WriteString("    ...\n")
			break
		}
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// sizes says what the run had, and took.
func (o *outcome) sizes() string {
	limit := "no limit"
	if o.limit > 0 {
		limit = fmt.Sprintf("limit %3d MB", o.limit>>20)
		if o.factor > 0 {
			limit += fmt.Sprintf(" (%.2f)", o.factor)
		}
	}
	return fmt.Sprintf("%s, resident %3d MB, peak %3d MB, %4.1f s", limit, o.resident>>20, o.peak>>20, o.took.Seconds())
}

// cause returns the line of the output that says why there was no verdict, or "".
func (o *outcome) cause() string {
	for line := range strings.Lines(o.output) {
		if strings.Contains(line, "UNKNOWN") {
			return strings.TrimSpace(line)
		}
	}
	return "no line says UNKNOWN"
}

// TestMemoryLimits: whatever the limit, no verb ends the program, and none hangs. Where memory is
// too short, the verdict is unknown.
func TestMemoryLimits(t *testing.T) {
	needGroups(t)
	p := build(t)
	first, limited := matrix()
	var w tally
	p.all(t, only(first), func(o *outcome) { w.judge(t, o, o.want()) })
	p.all(t, only(limited), func(o *outcome) {
		if o.decided {
			w.judge(t, o, o.want())
		} else {
			w.judge(t, o, o.want(), unknown)
		}
	})
	w.report(t)
}

// only leaves the runs whose "shape/verb/" contains MEMORY_ONLY, if that is set.
func only(runs []run) []run {
	part := os.Getenv("MEMORY_ONLY")
	return slices.DeleteFunc(runs, func(r run) bool { return !strings.Contains(r.shape+"/"+r.verb+"/", part) })
}

var remedyFigure = regexp.MustCompile(`memory limit to (\d+) MiB`)

// TestMemoryRemedies: with the limit that an unknown verdict names there is a verdict.
func TestMemoryRemedies(t *testing.T) {
	needGroups(t)
	p := build(t)
	var tight, raised []run
	for _, shape := range shapes {
		for _, verb := range []string{"root", "paths red", "retained", "growth red", "expect red", "allocs", "peak", "none leaked"} {
			tight = append(tight, run{shape: shape, verb: verb, megabytes: 16, factor: 1.3})
		}
	}
	var w tally
	p.all(t, only(tight), func(o *outcome) {
		found := remedyFigure.FindStringSubmatch(o.output)
		if o.verdict() != unknown || found == nil {
			w.judge(t, o, o.want()) // unknown names a limit that is enough
			return
		}
		megabytes, _ := strconv.ParseInt(found[1], 10, 64)
		r := o.run
		r.factor, r.limit = 0, megabytes<<20
		raised = append(raised, r)
	})
	p.all(t, raised, func(o *outcome) { w.judge(t, o, o.want()) })
	w.report(t)
}
