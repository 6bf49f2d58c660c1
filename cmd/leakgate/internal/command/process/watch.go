package process

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/internal/spikerule"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/refscan/foreign"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

// watchOptions are the flags of leakgate scan -watch.
type watchOptions struct {
	on        bool
	every     time.Duration
	most      int // -max
	noBase    bool
	poll      time.Duration
	spike     string
	threshold spikerule.Threshold // -spike
}

func (o *watchOptions) register(f *flag.FlagSet) {
	f.BoolVar(&o.on, "watch", false, "")
	f.DurationVar(&o.every, "every", time.Minute, "")
	f.IntVar(&o.most, "max", 24, "")
	f.BoolVar(&o.noBase, "nobase", false, "")
	f.DurationVar(&o.poll, "poll", 10*time.Millisecond, "")
	f.StringVar(&o.spike, "spike", "20%,+64MiB", "")
}

// Flags that go only with -watch, and those that do not go with it.
var (
	ofWatch = []string{"every", "max", "nobase", "poll", "spike"}
	ofOne   = []string{"audit", "base", "core", "fail", "json"}
)

const leastPoll = 100 * time.Microsecond

// check checks the flags of -watch. output is -o: a folder that is there before anything is
// written to it.
func (o *watchOptions) check(output string) (err error) {
	switch {
	case o.every < 0:
		return fmt.Errorf("-every %v: a time between two spikes cannot be negative", o.every)
	case o.most < 1:
		return fmt.Errorf("-max %d is no number of spikes, from 1 on", o.most)
	case o.poll < leastPoll:
		return fmt.Errorf("-poll %v: at least %v", o.poll, leastPoll)
	}
	if o.threshold, err = spikerule.Parse(o.spike); err != nil {
		return fmt.Errorf("-spike %s: %w", o.spike, err)
	}
	if output == "" {
		return nil
	}
	info, err := os.Stat(output)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", output)
	}
	if err != nil {
		return fmt.Errorf("with -watch, -o names a folder that is there: %w", err)
	}
	return nil
}

// baseAge is the age at which the snapshot that spikes are compared with is renewed.
const baseAge = time.Hour

// A watch is the state of leakgate scan -watch.
type watch struct {
	*ScanOptions
	*cli.Context
	counters *foreign.Counters
	judge    *spikerule.Judge
	last     uint32 // number of the collection that was read last
	cycles   int    // number of collections that were read
	spikes   int
	ready    bool
	base     *scanreport.Scan
	baseErr  error
	usual    []foreign.Recorded // of when base was taken, or would have been
	based    time.Time          // likewise
}

// follow watches until the process ends, ctx is done, or there were -max spikes.
func (o *ScanOptions) follow(ctx context.Context, c *cli.Context) int {
	counters, err := foreign.OpenCounters(ctx, o.process.PID, o.process.Options()...)
	var first foreign.Cycle
	if err == nil {
		defer func() { _ = counters.Close() }()
		first, err = counters.Last()
	}
	if err != nil {
		return failed(c, err)
	}
	w := &watch{ScanOptions: o, Context: c, counters: counters, judge: spikerule.NewJudge(o.watch.threshold, o.watch.every, o.watch.most), last: first.Number}
	fmt.Fprintf(c.Stdout, "watching %s of %s; a spike is %s above the usual\n", o.process.Name(), o.process.Program(), o.watch.threshold)
	if first.Number > 0 {
		w.ended(ctx, first)
	}
	tick := time.NewTicker(o.watch.poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return w.end("interrupted", nil)
		case <-tick.C:
		}
		cycle, err := counters.Last()
		switch {
		case errors.Is(err, foreign.ErrEnded):
			return w.end(o.process.Name()+" has ended", nil)
		case err != nil:
			return w.end("", err)
		case cycle.Number != w.last:
			w.last = cycle.Number
			w.ended(ctx, cycle)
		}
		if w.spikes == o.watch.most {
			return w.end(fmt.Sprintf("that were all of -max %d", o.watch.most), nil)
		}
	}
}

// ended judges a collection that has ended.
func (w *watch) ended(ctx context.Context, cycle foreign.Cycle) {
	w.cycles++
	now := time.Now()
	live, certain := cycle.Least()
	switch g := w.judge.Ended(uint64(cycle.Number), live, certain, now); {
	case g.Spike:
		w.look(ctx, cycle, &scanreport.Spike{
			Source: w.process.Name(), At: now, Collection: uint64(cycle.Number), Live: live, Certain: certain, Usual: g.Usual, Limit: g.Limit, LeftOut: g.LeftOut, Missed: w.judge.Missed(),
		}, g.Sudden)
	case g.Calm:
		if w.based.IsZero() || now.Sub(w.based) >= baseAge {
			w.usual, w.based = w.counters.Recorded(), now
			if !w.watch.noBase {
				w.takeBase(ctx)
			}
		}
		if !w.ready {
			w.ready = true
			fmt.Fprintf(w.Stdout, "%s alive as a rule\n", textfmt.ByteCount(g.Usual))
		}
	}
}

// takeBase takes the snapshot to compare with. If it fails, the previous one stays.
func (w *watch) takeBase(ctx context.Context) {
	scan, err := w.process.Scan(ctx, nil)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		w.base, w.baseErr = scan, nil
		fmt.Fprintf(w.Stdout, "took a snapshot to compare with: %s stood still for %.1f ms\n", w.process.Name(), scan.Report.Pause.Seconds()*1000)
	case w.base == nil:
		w.baseErr = fmt.Errorf("there is no snapshot of a usual moment: %w", err)
	}
}

// look finds out what holds a spike, and prints it.
func (w *watch) look(ctx context.Context, cycle foreign.Cycle, s *scanreport.Spike, sudden bool) {
	recorded := w.counters.RecordedAround(cycle, sudden, w.usual)
	s.Scan, s.Err = w.process.Scan(ctx, func(p *foreign.Process) {
		all := make([]scanreport.Recorded, len(recorded))
		for i, r := range recorded {
			all[i] = scanreport.Recorded{Stack: p.Frames(r.Stack), Before: r.Before, Alive: r.Alive}
		}
		s.SetRecorded(all)
	})
	if s.IsNone() {
		w.judge.Nothing(s.At)
		return
	}
	w.spikes++
	s.Base, s.BaseErr = w.base, w.baseErr
	fmt.Fprintf(w.Stdout, "\n%s  ", s.At.Format(time.DateTime))
	if err := s.WriteText(w.Stdout, int(w.top)); err != nil {
		w.Failure("%v", err)
	}
	if w.output == "" {
		return
	}
	folder, err := s.WriteFolder(w.output)
	if err != nil {
		w.Failure("the spike is not kept: %v", err)
		return
	}
	fmt.Fprintf(w.Stdout, "kept in %s\n", cli.Shown(folder))
}

// end prints how the watch ended, and returns the exit code.
func (w *watch) end(why string, err error) int {
	if err != nil {
		w.Failure("could not tell: %v", err)
		return cli.Unknown
	}
	missed, leftOut := "", ""
	if n := w.judge.Missed(); n > 0 {
		missed = fmt.Sprintf(", %s more ended between two readings (-poll %v)", textfmt.Count(int64(n)), w.watch.poll)
	}
	if n := w.judge.LeftOut(); n > 0 {
		leftOut = fmt.Sprintf(", and since the last one %s beyond the threshold left out because of -every", textfmt.CountNoun(int64(n), "collection"))
	}
	fmt.Fprintf(w.Stdout, "%s: %s%s, %s%s\n", why, textfmt.CountNoun(int64(w.cycles), "garbage collection"), missed, textfmt.CountNoun(int64(w.spikes), "spike"), leftOut)
	switch {
	case w.spikes > 0:
		return cli.Findings
	case !w.ready:
		w.Failure("could not tell: what is usual is known after %d garbage collections that end while it is watched, and there were %d: watch for longer", spikerule.Learned, w.cycles)
		return cli.Unknown
	}
	return cli.Pass
}
