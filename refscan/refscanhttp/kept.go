package refscanhttp

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/leakgate/leakgate/refscan/scanreport"
)

// mostKept is how many scans are kept to compare later ones with.
const mostKept = 4

// kept has the last scans. It is a variable of this package and not a field of a Handler: reports
// leave out what the tool's own packages hold, but a Handler is held by the program's mux.
var kept scans

type scans struct {
	sync.Mutex
	all   []*scanreport.Scan // the last one has the number taken
	taken int                // how many scans there were in all
}

// add keeps a scan and returns its number.
func (s *scans) add(scan *scanreport.Scan) int {
	s.Lock()
	defer s.Unlock()
	s.all = append(s.all, scan)
	if len(s.all) > mostKept {
		s.all = append([]*scanreport.Scan(nil), s.all[1:]...)
	}
	s.taken++
	return s.taken
}

// previous is the name of the last scan that is kept.
const previous = "previous"

// get returns the scan with a number, or the previous one and, if that is kept, the one before it;
// nil for "", and for the previous one if there was none.
func (s *scans) get(name string) (base, older *scanreport.Scan, err error) {
	s.Lock()
	defer s.Unlock()
	last := len(s.all) - 1
	switch {
	case name == "" || name == previous && last < 0:
		return nil, nil, nil
	case name == previous && last > 0:
		return s.all[last], s.all[last-1], nil
	case name == previous:
		return s.all[last], nil, nil
	case last < 0:
		return nil, nil, fmt.Errorf("base=%s: there was no request before this one", name)
	}
	first := s.taken - last
	n, err := strconv.Atoi(name)
	if err != nil || n < first || n > s.taken {
		return nil, nil, fmt.Errorf("base=%s: those kept are %d to %d, and previous", name, first, s.taken)
	}
	return s.all[n-first], nil, nil
}
