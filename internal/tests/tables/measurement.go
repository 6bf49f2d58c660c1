package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// sizes say how much to measure.
type sizes struct {
	common, yardstick int    // objects of each shape, and of the mixture that the goals are about
	rounds            string // for -benchtime
}

// A measurement collects all figures. Its methods do nothing once one of them has failed.
type measurement struct {
	ctx      context.Context
	progress io.Writer
	start    time.Time
	err      error

	cpu                   string
	common, yardstick     map[string]result
	single                map[string]result // the mixture with one processor
	freeze, assert, index map[string]result
	suite, fails          map[string]result

	link, twin time.Duration // the time of go test -c, and of making and indexing a twin
	init       time.Duration // of this module's packages
	size       string        // bytes that leakgate adds to a test binary, by TestBinarySize
}

// measurePerformance prints the tables of the document and, with write, writes them.
func measurePerformance(ctx context.Context, stdout, progress io.Writer, checkout string, quick, write bool) error {
	sizes := sizes{common: 1_000_000, yardstick: 4_600_000, rounds: "3x"}
	if quick {
		sizes.common, sizes.yardstick, sizes.rounds = 50_000, 100_000, "1x"
	}
	m := measurement{ctx: ctx, progress: progress, start: time.Now()}
	m.measure(sizes)
	if m.err != nil {
		return m.err
	}
	tables := strings.Join([]string{m.machine(), m.goals(), m.shapes()}, "\n")
	if _, err := io.WriteString(stdout, tables); err != nil || !write {
		return err
	}
	return performance.write(checkout, minor(runtime.Version()), tables)
}

// relinked is a test of package refscan that takes a snapshot.
const relinked = "^TestHeapProfileIsNotDisturbed$"

func (m *measurement) measure(s sizes) {
	objects := func(n int) []string { return []string{"LEAKGATE_BENCH_OBJECTS=" + strconv.Itoa(n)} }
	rounds := "-benchtime=" + s.rounds
	m.common = m.bench("./refscan", "^BenchmarkHeap(Retained)?$", objects(s.common), rounds)
	m.yardstick = m.bench("./refscan", "^BenchmarkHeap(Retained)?$/^mix$", objects(s.yardstick), rounds)
	m.single = m.bench("./refscan", "^BenchmarkHeap$/^mix$", append(objects(s.common), "GOMAXPROCS=1"), rounds)
	m.freeze = m.bench("./internal/engine/process/freeze", "^BenchmarkTake$", nil, "-benchtime=20x")
	m.assert = m.bench("./leakcheck", "^BenchmarkAssert(Collected|(Root|Type|NoGrowth)(Small)?)$", nil, "-benchtime=20x")
	m.fails = m.bench("./leakcheck", "^BenchmarkAssert(NoGrowth|Root|Type)Fails$", nil, "-benchtime="+s.rounds)
	m.suite = m.bench("./leakcheck", "^BenchmarkSuite$/^All$", nil, "-benchtime="+s.rounds)
	m.index = m.bench("./internal/engine/symbols/debuginfo", "^Benchmark(Build|OpenWarm)$", nil, "-benchtime=5x")
	m.startup()
	output := m.run([]string{everything}, "go", "test", "./internal/policy", "-run", "^TestBinarySize$", "-v")
	m.size = m.find(output, `everything +(\d+) bytes`)
}

// bench runs benchmarks. It adds each result under its name without the number of processors,
// unless a result of a run on one processor has that name.
func (m *measurement) bench(folder, pattern string, env []string, args ...string) map[string]result {
	if m.err != nil {
		return nil
	}
	m.say("%s: %s", folder, pattern)
	results, cpu, err := benchmark(m.ctx, folder, pattern, env, args...)
	if err != nil {
		m.err = err
		return nil
	}
	m.cpu = cpu
	suffix := "-" + strconv.Itoa(runtime.GOMAXPROCS(0))
	for name, r := range maps.Clone(results) {
		base, ok := strings.CutSuffix(name, suffix)
		if _, taken := results[base]; ok && !taken {
			results[base] = r
		}
	}
	return results
}

// startup times what happens once for each test binary: linking it with debug information (with the
// build cache warm), making and indexing a twin of it, and initialising packages.
func (m *measurement) startup() {
	if m.err != nil {
		return
	}
	m.say("first assertion")
	scratch, err := os.MkdirTemp("", "leakgate-performance-")
	if err != nil {
		m.err = err
		return
	}
	defer os.RemoveAll(scratch)
	binary := filepath.Join(scratch, "refscan.test")
	link := []string{"test", "-c", "-ldflags=-w=0", "-o", binary, "./refscan"}
	m.run(nil, "go", link...)
	if err := os.Remove(binary); err != nil && m.err == nil {
		// go does not link a binary again that is there and up to date
		m.err = err
	}
	start := time.Now()
	m.run(nil, "go", link...)
	m.link = time.Since(start)

	test := m.run([]string{"LEAKGATE_CACHE=" + scratch}, "go", "test", "./refscan", "-count=1", "-v", "-run", relinked)
	m.twin = m.duration(m.find(test, `built a twin with debug information in ([\d.]+s)`))

	trace := m.run([]string{"GODEBUG=inittrace=1"}, binary, "-test.run=^$")
	for line := range strings.Lines(trace) {
		// "init PACKAGE @1.1 ms, 0.24 ms clock, 3896 bytes, 13 allocs"
		if f := strings.Fields(line); len(f) > 5 && f[0] == "init" && strings.HasPrefix(f[1], "github.com/leakgate/") {
			m.init += m.duration(f[4] + "ms")
		}
	}
}

func (m *measurement) run(env []string, name string, args ...string) string {
	if m.err != nil {
		return ""
	}
	output, err := tool{env: env}.run(m.ctx, name, args...)
	m.err = err
	return output
}

// find returns the first group of a match.
func (m *measurement) find(text, pattern string) string {
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		if m.err == nil {
			m.err = fmt.Errorf("nothing matches %q in:\n%s", pattern, text)
		}
		return ""
	}
	return match[1]
}

func (m *measurement) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil && m.err == nil {
		m.err = err
	}
	return d
}

func (m *measurement) say(format string, args ...any) {
	fmt.Fprintf(m.progress, "%4.0fs  %s\n", time.Since(m.start).Seconds(), fmt.Sprintf(format, args...))
}
