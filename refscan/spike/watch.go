package spike

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/runtime/gcwatch"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
	"github.com/leakgate/leakgate/internal/spikerule"
	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

const (
	defaultInterval = time.Minute
	defaultPerDay   = 24
	defaultBase     = time.Hour

	// longest bounds the preparations of a snapshot, and so how long Stop waits for them.
	longest = 2 * time.Minute
	// Mark phases are announced by a finalizer, and a finalizer of the program that never returns
	// keeps others from running. So the counters are also read at this interval.
	poll = time.Second
	// profileAge is the age at which the heap profile of a usual moment is renewed.
	profileAge = time.Minute
)

// now is the clock of the limits. Tests replace it.
var now = time.Now

// readings counts the collections that watchers have read.
var readings atomic.Int64

// A watch is a running watcher. All but ready, cancel and stopped belongs to its goroutine.
type watch struct {
	config   Config
	judge    *spikerule.Judge
	metrics  *gcwatch.Reader
	counters *gcwatch.Counters // read from the runtime's memory; nil without debug information
	records  *gcwatch.Records  // likewise

	last     uint64 // number of the collection that was read last
	skipUpTo uint64 // up to this number, collections also count what the watcher itself allocated
	// the memory profiler's records, and the heap profile, of a usual moment
	usual    []gcwatch.Recorded
	heapBase []byte
	profiled time.Time
	base     []byte // an encoded, compressed scan: decoded, it would be many heap objects
	baseErr  error
	based    time.Time // when base was taken, or its snapshot failed

	ready   chan struct{}
	ended   context.Context
	cancel  context.CancelFunc
	once    sync.Once
	stopped chan struct{}
}

func newWatch(c Config, threshold spikerule.Threshold) *watch {
	if c.Interval == 0 {
		c.Interval = defaultInterval
	}
	if c.PerDay == 0 {
		c.PerDay = defaultPerDay
	}
	if c.Base == 0 {
		c.Base = defaultBase
	}
	w := &watch{
		config: c, judge: spikerule.NewJudge(threshold, c.Interval, c.PerDay),
		metrics: gcwatch.NewReader(), ready: make(chan struct{}), stopped: make(chan struct{}),
	}
	w.ended, w.cancel = context.WithCancel(context.Background())
	return w
}

func (w *watch) run(number int) {
	w.counters, w.records = findCounters(w.ended)
	told := gcwatch.Start()
	tick := time.NewTicker(poll)
	defer func() {
		tick.Stop()
		told.Stop()
		w.becomeReady()
		forget(number)
		close(w.stopped)
	}()
	for w.ended.Err() == nil {
		w.read()
		select {
		case <-w.ended.Done():
		case <-told.Ended():
		case <-tick.C:
		}
	}
}

func (w *watch) becomeReady() { w.once.Do(func() { close(w.ready) }) }

// read judges the collection that ended last, if it was not read before.
func (w *watch) read() {
	last, certain := w.cycle()
	if last.Number == w.last {
		return
	}
	w.last = last.Number
	if last.Number <= w.skipUpTo {
		return
	}
	defer readings.Add(1)
	live := int64(last.Live)
	switch g := w.judge.Ended(last.Number, live, certain, now()); {
	case g.Spike:
		w.examineSpike(&scanreport.Spike{
			Source: scanreport.Self(), At: time.Now(), Collection: last.Number, Live: live, Certain: certain, Usual: g.Usual, Limit: g.Limit, LeftOut: g.LeftOut, Missed: w.judge.Missed(),
		}, g.Sudden)
	case g.Calm:
		w.renew()
	}
}

// cycle returns the collection that ended last, and whether the bytes that it counts as alive are
// certain.
func (w *watch) cycle() (last gcwatch.Cycle, certain bool) {
	if w.counters == nil {
		last, _ = w.metrics.Last()
		return last, false
	}
	c, _ := w.counters.Last(gcwatch.Self{}) // memory of our own can be read
	live, certain := c.Least()
	return gcwatch.Cycle{Number: uint64(c.Number), Live: uint64(live)}, certain
}

// findCounters returns nil without debug information. Then nothing tells live objects from
// those that were allocated while a collection marked.
func findCounters(ctx context.Context) (*gcwatch.Counters, *gcwatch.Records) {
	index, err := snapshot.OpenIndex(ctx, func(string, ...any) {})
	if err != nil {
		return nil, nil
	}
	bias, err := snapshot.LoadBias(index)
	if err != nil {
		return nil, nil
	}
	counters, err := gcwatch.FindCounters(rtlayout.In(index, bias))
	if err != nil {
		return nil, nil
	}
	records, err := gcwatch.FindRecords(rtlayout.In(index, bias))
	if err != nil {
		return counters, nil
	}
	return counters, records
}

// renew renews the heap profile and the snapshot that spikes are compared with, at a moment when no
// more is alive than usual.
func (w *watch) renew() {
	at := time.Now()
	if w.heapBase == nil || at.Sub(w.profiled) >= profileAge {
		w.usual, w.heapBase, w.profiled = w.readRecords(), heapProfile(), at
		w.skipCollections()
	}
	if w.config.Base > 0 && (w.based.IsZero() || at.Sub(w.based) >= w.config.Base) {
		w.takeBase()
		w.based = at
	}
	w.becomeReady()
}

// takeBase takes the snapshot that spikes are compared with. If it fails, the previous one stays.
func (w *watch) takeBase() {
	scan, err := w.snapshot()
	if err == nil {
		scan.Report = scan.Report.Fold()
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if err = errors.Join(scan.Encode(z), z.Close()); err == nil {
			w.base, w.baseErr = b.Bytes(), nil
			return
		}
	}
	if w.base == nil {
		w.baseErr = fmt.Errorf("there is no snapshot of a usual moment: %w", err)
	}
}

// decodeBase returns the snapshot of takeBase, nil if there is none.
func (w *watch) decodeBase() (*scanreport.Scan, error) {
	if w.base == nil {
		return nil, w.baseErr
	}
	z, err := gzip.NewReader(bytes.NewReader(w.base))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	return scanreport.Decode(b, "the snapshot of a usual moment")
}

// examineSpike takes a snapshot to find what holds a spike, and reports the spike.
func (w *watch) examineSpike(all *scanreport.Spike, sudden bool) {
	if w.records != nil {
		all.SetRecorded(resolve(w.records.Around(gcwatch.Self{}, w.counters, uint32(all.Collection), sudden, w.usual)))
	}
	all.Scan, all.Err = w.snapshot()
	if all.Recorded == nil {
		all.HeapBase, all.Heap = w.heapBase, heapProfile()
	}
	if w.ended.Err() != nil {
		return
	}
	if all.IsNone() {
		w.judge.Nothing(now())
		return
	}
	all.Base, all.BaseErr = w.decodeBase()
	s := &Spike{
		At: all.At, Cycle: all.Collection, Live: all.Live, Usual: all.Usual, LeftOut: all.LeftOut, Missed: all.Missed,
		Err: all.Err, Held: all.Held(), HeapBase: all.HeapBase, Heap: all.Heap, all: *all,
	}
	if all.Scan != nil {
		s.Report = all.Scan.Report
	}
	w.call(s)
	w.skipCollections()
}

// call calls OnSpike. inCallback recognises call by its name.
//
//go:noinline
func (w *watch) call(s *Spike) { w.config.OnSpike(s) }

// snapshot takes a snapshot of this process.
func (w *watch) snapshot() (scan *scanreport.Scan, err error) {
	defer w.skipCollections()
	ctx, cancel := context.WithTimeout(w.ended, longest)
	defer cancel()
	return scanreport.TakeSelf(ctx, refscan.WithRetained(), refscan.WithAllocationSites())
}

// skipCollections makes read skip the collections until now, and one that is under way: they found
// alive what a scan or a profile had in memory.
func (w *watch) skipCollections() {
	marking := snapshot.Marking()
	last, _ := w.cycle()
	w.last, w.skipUpTo = last.Number, last.Number
	if marking {
		w.skipUpTo++
	}
}

func heapProfile() []byte {
	var b bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&b, 0); err != nil {
		return nil
	}
	return b.Bytes()
}
