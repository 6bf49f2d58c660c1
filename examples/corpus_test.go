package examples

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// corpusLeaks has the tests of the corpus that must fail, and the title of the first finding of
// each: what grows, at which rate, and at which root.
var corpusLeaks = map[string]string{
	"Map":             "+1.00 *corpus.Session/op … via example.com/corpus.sessions[*]",
	"Subslice":        "+1.00 []uint8/op (+12.0 KiB/op) via example.com/corpus.headers[*]",
	"Substring":       "+1.00 string/op (+12.0 KiB/op) via example.com/corpus.words[*]",
	"Listener":        "+1.00 func corpus.TestLeakListener.func1.1/op … via example.com/corpus.events.listeners[*]",
	"Observer":        "+1.00 *corpus.Session/op … via example.com/corpus.observers.observers[$key]",
	"Context":         "+1.00 *context.timerCtx/op … via example.com/corpus.running.children[$key]",
	"Timer":           "+1.00 timer/op … via timer(example.com/corpus.(*Session).notify)",
	"Receiver":        "+1.00 goroutine/op … in example.com/corpus.receive",
	"Sender":          "+1.00 goroutine/op … in example.com/corpus.send",
	"Select":          "+1.00 goroutine/op … in example.com/corpus.work",
	"Lock":            "+1.00 goroutine/op in example.com/corpus.update",
	"FinalizerCycle":  "+2.00 … via finalizer(*example.com/corpus.half)",
	"Closure":         "+1.00 func corpus.TestLeakClosure.func1.1/op … via example.com/corpus.handlers[*]",
	"SyncMap":         "+1.00 *corpus.Session/op … via example.com/corpus.byTime[*]",
	"Pool":            "+1.00 *bytes.Buffer/op (+10.1 KiB/op) via example.com/corpus.buffers.free[*]",
	"Append":          "+1.00 string/op … via example.com/corpus.journal[*]",
	"Defer":           "+1.00 *corpus.Session/op … via example.com/corpus.consume.$defer",
	"BufferedChannel": "+1.00 *corpus.Session/op … via example.com/corpus.audit[*]",
	"Cache":           "+1.00 *corpus.Session/op … via example.com/corpus.cache.results[*]",
	"Body":            "+1.00 goroutine/op … in net/http.(*persistConn).readLoop",
	"Metric":          "+1.00 … via example.com/corpus.requests.MetricVec.metricMap.metrics[*]",
	"List":            "+1.00 *corpus.entry/op … via example.com/corpus.tail",
	"Handle":          "+1.00 *corpus.Session/op … via runtime/cgo.handles[*]",
	"Twice":           "+1.00 *corpus.Session/op … via example.com/corpus.byName[*]",
}

// corpusFurtherText has what else a message must say. ADDED stands for the number of calls that
// added the objects.
var corpusFurtherText = map[string]string{
	"Body":  "the Body of a response is not closed",
	"Twice": "all ADDED objects are also held by the package variable example.com/corpus.recent (leaks_test.go:",
}

// TestCorpusTests runs the tests of package corpus itself. For each TestLeak it expects the root in
// the first finding of the message, and the leak's fingerprint, which is the same in every build
// and Go version (with -all-modes or -repeat n, also with -race). No TestHealthy may ever fail:
// they run once plainly, and with -repeat n, n times plainly, n times with -race, and n times while
// other processes keep the processors busy.
func TestCorpusTests(t *testing.T) {
	plain := corpusBinary(t)
	leaks := func(t *testing.T, binary string) {
		artifacts := t.TempDir()
		outputs := runLeaks(t, binary, "LEAKGATE_ARTIFACTS="+artifacts)
		if n := len(outputs); n > len(corpusLeaks) {
			t.Errorf("the corpus has %d tests that leak, and %d of them are expected", n, len(corpusLeaks))
		}
		found := make(fingerprints)
		for name, want := range corpusLeaks {
			t.Run(name, func(t *testing.T) {
				output, ran := outputs["TestLeak"+name]
				if !ran && name == "Handle" {
					t.Skip("the corpus was built without cgo")
				}
				if !strings.Contains(output, "--- FAIL: TestLeak"+name) || !announces(output, want) {
					t.Errorf("want %q, got\n%s", want, output)
				}
				if also := besides(name, output); !strings.Contains(output, also) {
					t.Errorf("want %q, got\n%s", also, output)
				}
				found[name] = recordedLeak(t, filepath.Join(artifacts, "example.com", "corpus", "TestLeak"+name, "1", "result.json"))
			})
		}
		found.compare(t)
	}
	t.Run("leaks", func(t *testing.T) { leaks(t, plain) })
	if *allModes || *repeat > 1 {
		t.Run("leaks with -race", func(t *testing.T) {
			needRace(t)
			leaks(t, corpusBinary(t, "-race"))
		})
	}
	healthy := func(binary string) {
		t.Helper()
		if output, passed := runCorpus(t, binary, "^TestHealthy", *repeat); !passed {
			t.Errorf("a false alarm:\n%s", output)
		}
	}
	healthy(plain)
	if *repeat > 1 {
		healthy(corpusBinary(t, "-race"))
		stop := keepBusy(t)
		healthy(plain)
		stop()
	}
}

var addedBy = regexp.MustCompile(`(?m)^ *added by ([\d,]+) calls:$`)

// besides returns the text of corpusFurtherText for a leak, with the number of calls from the
// message.
func besides(name, output string) string {
	added := ""
	if m := addedBy.FindStringSubmatch(output); m != nil {
		added = m[1]
	}
	return strings.ReplaceAll(corpusFurtherText[name], "ADDED", added)
}

// corpusBinary builds the test binary of package corpus itself.
func corpusBinary(t *testing.T, flags ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "corpus.test")
	buildCorpus(t, binary, append(flags, ".")...)
	return binary
}

// buildCorpus builds test binaries of the corpus.
func buildCorpus(t *testing.T, output string, args ...string) {
	t.Helper()
	dir, err := filepath.Abs("corpus")
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", append([]string{"test", "-c", "-o", output}, args...)...)
	build.Dir = dir
	build.Env = append(os.Environ(), "PWD="+dir, "GOWORK=off")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// runCorpus runs the tests that match, count times.
func runCorpus(t *testing.T, binary, tests string, count int, env ...string) (output string, passed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+count)*10*time.Minute)
	defer cancel()
	args := []string{"-test.v", "-test.run=" + tests, "-test.timeout=0", "-test.count=" + strconv.Itoa(count)}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = "corpus"
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "LEAKGATE_STRICT=1"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// runLeaks runs the tests TestLeak of package corpus, divided among processes, since every snapshot
// also scans what earlier leaks left. It returns the output of each test.
func runLeaks(t *testing.T, binary string, env ...string) map[string]string {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), binary, "-test.list=^TestLeak").Output()
	if err != nil {
		t.Fatal(err)
	}
	parts := make([][]string, perProcessor*runtime.NumCPU())
	for i, name := range strings.Fields(string(list)) {
		parts[i%len(parts)] = append(parts[i%len(parts)], name)
	}
	found := make([]string, len(parts))
	var all sync.WaitGroup
	for i, names := range parts {
		if len(names) > 0 {
			all.Go(func() { found[i], _ = runCorpus(t, binary, "^("+strings.Join(names, "|")+")$", 1, env...) })
		}
	}
	all.Wait()
	outputs := make(map[string]string)
	for _, output := range found {
		maps.Copy(outputs, outputsOfTests(output))
	}
	return outputs
}

// outputsOfTests divides the output of a verbose run by the tests that ran, one after the other.
func outputsOfTests(output string) map[string]string {
	outputs := make(map[string]string)
	name := ""
	for line := range strings.Lines(output) {
		if started, ok := strings.CutPrefix(line, "=== RUN "); ok {
			name = strings.TrimSpace(started)
		}
		if name != "" {
			outputs[name] += line
		}
	}
	return outputs
}

// announces reports whether the first finding of a message has all parts of want, in order.
func announces(output, want string) bool {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "+") {
			continue
		}
		for part := range strings.SplitSeq(want, "…") {
			_, after, found := strings.Cut(line, strings.TrimSpace(part))
			if !found {
				return false
			}
			line = after
		}
		return true
	}
	return false
}

// keepBusy starts a process for each processor that does nothing but compute.
func keepBusy(t *testing.T) (stop func()) {
	t.Helper()
	var busy []*exec.Cmd
	for range runtime.NumCPU() {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		busy = append(busy, cmd)
	}
	return func() {
		for _, cmd := range busy {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
}
