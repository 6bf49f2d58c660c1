package leakcheck

import (
	"fmt"
	"sync"
	"time"

	"github.com/leakgate/leakgate/refscan"
)

// An observation is one report on the process, with the names of all that exists in it.
type observation struct {
	report *refscan.Report
	names  inventory
	settle time.Duration // how long the process was waited for
	scan   time.Duration
	logs   []string // what took long
	heap   string   // the heap profile of the same moment, "" if it was not asked for
}

// One observation at a time: settling takes longer while another scan is under way.
var observing sync.Mutex

// observeProcess settles, freezes and scans this process. What cannot be done is a
// *refscan.UnavailableError. heap asks for the heap profile, too; also reads what else it wants of the snapshot,
// unless it is nil.
func observeProcess(heap bool, also func(*refscan.Snapshot) error) (*observation, error) {
	observing.Lock()
	defer observing.Unlock()
	o := &observation{}
	var logging sync.Mutex
	snapshot, err := refscan.Capture(refscan.WithoutNames(), refscan.WithLog(func(format string, args ...any) {
		logging.Lock()
		defer logging.Unlock()
		o.logs = append(o.logs, fmt.Sprintf(format, args...))
	}))
	if err != nil {
		return nil, err
	}
	if heap {
		// Settling ended with a collection, which published the profile of that moment. The scan's own
		// allocations may cause another.
		o.heap = heapProfile()
	}
	o.settle = snapshot.Settled()
	start := time.Now()
	o.report, err = snapshot.Scan(refscan.WithAllocationSites())
	o.scan = time.Since(start)
	if err == nil && also != nil {
		if unnamed := o.report.Unnamed(); unnamed != nil {
			err = unnamed
		} else {
			err = also(snapshot)
		}
	}
	if closeErr := snapshot.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	o.names = o.report
	return o, nil
}
