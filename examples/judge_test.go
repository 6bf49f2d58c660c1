package examples

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// With -repeat n, there are n rounds in the plain mode, and so many in the other modes.
const (
	raceShare = 2 // n/2 with -race
	busyShare = 4 // n/4 while other processes keep the processors busy
)

var share = flag.String("share", "1/1", "judge share `i/n` of the corpus's cases only, unless they are repeated")

// A round takes 180 s of processor time with few calls of each operation, and five times that if
// AssertNoGrowth decides the number of calls, as it does for users.
var few = flag.Bool("few", false, "with -repeat: few calls of each operation")

var execWith = flag.String("exec", "", "run the corpus's test binaries by `program`, as go test -exec does")

var without = flag.String("without", "", "leave out these `subjects` of the corpus, with commas between them")

// TestCorpus judges all cases of the corpus: once, with few calls of each operation; and with
// -repeat n, n times as users would run them, n/2 times with -race, and n/4 times while other
// processes keep the processors busy. It prints a line about each program that is judged wrongly or
// is marked as pending, and the totals.
func TestCorpus(t *testing.T) {
	plain := corpusJudges(t)
	if *repeat == 1 {
		judgeCorpus(t, plain, *share)
		return
	}
	rounds := func(mode string, judges []judge, n int) {
		for round := range n {
			t.Run(fmt.Sprintf("%s-%d", mode, round+1), func(t *testing.T) {
				judgeCorpus(t, judges, "1/1", fmt.Sprintf("-corpus.defaults=%t", !*few))
			})
		}
	}
	rounds("plain", plain, *repeat)
	t.Run("race", func(t *testing.T) { needRace(t) })
	rounds("race", corpusJudges(t, "-race"), (*repeat+raceShare-1)/raceShare)
	stop := keepBusy(t)
	defer stop()
	rounds("busy", plain, (*repeat+busyShare-1)/busyShare)
}

// A judge is the test binary of one subject of the corpus.
type judge struct{ binary, dir string }

// corpusJudges builds a test binary for each subject: in one binary for all, every snapshot would
// also scan what the other subjects link.
func corpusJudges(t *testing.T, flags ...string) []judge {
	t.Helper()
	found, err := filepath.Glob("corpus/*/corpus_test.go")
	if err != nil || len(found) == 0 {
		t.Fatalf("the subjects of the corpus: %v, %v", found, err)
	}
	found = slices.DeleteFunc(found, func(file string) bool {
		return slices.Contains(strings.Split(*without, ","), filepath.Base(filepath.Dir(file)))
	})
	folder := t.TempDir()
	args := flags
	var judges []judge
	for _, file := range found {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		args = append(args, "./"+name)
		judges = append(judges, judge{filepath.Join(folder, name+".test"), dir})
	}
	buildCorpus(t, folder+string(filepath.Separator), args...)
	for i := range judges {
		if windows := judges[i].binary + ".exe"; exists(windows) {
			judges[i].binary = windows
		}
	}
	return judges
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

const (
	// partsOfSubject is the number of processes that share the cases of a subject: every snapshot
	// also scans what earlier leaks left, such as a goroutine that nothing can end.
	partsOfSubject = 4
	// perProcessor is the number of processes at a time for each processor. They mostly wait:
	// AssertNoGrowth waits for a leak to end before it reports it.
	perProcessor = 2
)

// judgeCorpus runs the judges on the parts of the cases that belong to share i/n.
func judgeCorpus(t *testing.T, judges []judge, share string, flags ...string) {
	t.Helper()
	var mine, shares int
	if _, err := fmt.Sscanf(share, "%d/%d", &mine, &shares); err != nil || mine < 1 || mine > shares {
		t.Fatalf("-share %q: want i/n, such as 1/2", share)
	}
	type report struct {
		of     string
		output string
		err    error
	}
	var reports []*report
	var all sync.WaitGroup
	room := make(chan struct{}, perProcessor*runtime.NumCPU())
	for i := range partsOfSubject * len(judges) {
		j, part := judges[i%len(judges)], i/len(judges)
		if i%shares != mine-1 {
			continue
		}
		r := &report{of: fmt.Sprintf("%s, part %d of %d", j.dir, part+1, partsOfSubject)}
		reports = append(reports, r)
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			r.output, r.err = j.run(t.Context(), append([]string{
				"-corpus.shards=" + strconv.Itoa(partsOfSubject), "-corpus.shard=" + strconv.Itoa(part),
			}, flags...))
		})
	}
	all.Wait()
	var sum totals
	for _, r := range reports {
		if r.err != nil {
			t.Errorf("%s: %v\n%s", r.of, r.err, complaints(r.output))
		}
		if !sum.add(r.output) {
			t.Errorf("%s did not come to its end:\n%s", r.of, r.output)
		}
		for line := range strings.Lines(r.output) {
			if strings.HasPrefix(line, "corpus: ") && strings.Contains(line, "pending:") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
	t.Log(&sum)
}

func (j judge) run(ctx context.Context, flags []string) (output string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	command := append([]string{j.binary, "-test.run=^TestCorpus$", "-test.timeout=0"}, flags...)
	if *execWith != "" {
		command = append([]string{*execWith}, command...)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = j.dir
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "LEAKGATE_CACHE=") || strings.HasPrefix(kv, "LEAKGATE_FREEZE=") || !strings.HasPrefix(kv, "LEAKGATE_") && !strings.HasPrefix(kv, "LEAKCHECK_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "LEAKGATE_STRICT=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// complaints returns the judge's output without the lines about programs that are judged rightly.
func complaints(output string) string {
	var b strings.Builder
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "corpus: ") || !strings.Contains(line, ": quiet (") && !strings.Contains(line, ": found, named (") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// totals are the figures of the judge's last line, in its order.
type totals [8]int

const totalsFormat = "leaks %d: found %d, named %d; fixed %d: quiet %d; healthy %d: quiet %d; pending %d"

// add adds what a judge has printed, and returns false if there is nothing.
func (s *totals) add(output string) bool {
	start := strings.LastIndex(output, "corpus: leaks ")
	if start < 0 {
		return false
	}
	var o totals
	_, err := fmt.Sscanf(output[start:], "corpus: "+totalsFormat, o.fields()...)
	for i, n := range o {
		s[i] += n
	}
	return err == nil
}

func (s *totals) fields() []any {
	var fields []any
	for i := range s {
		fields = append(fields, &s[i])
	}
	return fields
}

func (s *totals) String() string {
	var figures []any
	for _, n := range s {
		figures = append(figures, n)
	}
	return fmt.Sprintf(totalsFormat, figures...)
}
