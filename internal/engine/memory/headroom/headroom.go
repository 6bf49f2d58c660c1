// Package headroom tells how much memory this process may still take before a limit refuses it, or
// the kernel kills the process for it. The limits are control groups of both versions with all
// their ancestors, resource limits, and the machine's memory.
//
// On Linux it reads only files in /proc and /sys/fs/cgroup; on Windows and macOS it asks the system
// for the machine's memory. What cannot be read is no limit. Other processes take memory too, so
// the result is a measurement and no guarantee.
package headroom

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

// A Need is memory that is about to be taken, in bytes.
type Need struct {
	Resident int64 // memory of any kind that holds data
	Private  int64 // memory that only this process may write to, such as its heap
	Address  int64 // address space
}

// A Limit is one bound on the memory of this process.
type Limit struct {
	Name   string // for the user: "memory.max of the cgroup /app"
	Max    int64  // bytes
	Room   int64  // bytes that may still be taken; may be negative
	Remedy string // how to raise it, with %d for MiB
	amount func(Need) int64
}

// A Shortage is a limit that leaves less than is needed. It is an error.
type Shortage struct {
	Limit
	Needed int64 // bytes needed in addition to what is taken
	// Enough is the value in bytes at which the limit would leave enough for all that follows, 0 if
	// that is not known.
	Enough int64
}

// Enough returns the value at which the limit leaves what is needed, in bytes.
func (l *Limit) Enough(n Need) int64 { return l.Max + l.amount(n) - l.Room }

// Error implements error: the limit, and both figures.
func (s *Shortage) Error() string {
	return fmt.Sprintf("%d MiB more memory are needed, and %s leaves %d MiB", mib(s.Needed), s.Name, max(0, s.Room>>20))
}

// Way returns the remedy, with the value that the limit would need.
func (s *Shortage) Way() string {
	way := s.Remedy
	if strings.Contains(way, "%d") {
		way = fmt.Sprintf(way, mib(max(s.Max+s.Needed-s.Room, s.Enough)))
	}
	return way + ", or let the test keep less"
}

// IsResident reports whether memory that is given back to the system makes room: not below a limit
// on address space or data, which counts what is mapped.
func (s *Shortage) IsResident() bool { return s.amount(Need{Resident: 1}) > 0 }

// mib converts bytes to MiB and rounds up.
func mib(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }

// A System is the source of the limits.
type System struct {
	Root string // in place of "/", for tests
}

// Check returns the *Shortage of the limit that is short by most, nil if all leave enough.
func (s System) Check(n Need) error { return shortage(s.Limits(), n) }

func shortage(limits []Limit, n Need) error {
	var worst *Shortage
	for _, l := range limits {
		short := &Shortage{Limit: l, Needed: l.amount(n)}
		if short.Needed > 0 && short.Needed > l.Room && (worst == nil || short.Needed-l.Room > worst.Needed-worst.Room) {
			worst = short
		}
	}
	if worst == nil {
		return nil
	}
	return worst
}

// Left returns how many bytes the Go heap may still grow by when n is taken: the least that a limit
// leaves. It is 0 if nothing is left, and math.MaxInt64 if there is no limit.
func (s System) Left(n Need) int64 {
	left := int64(math.MaxInt64)
	for _, l := range s.Limits() {
		left = min(left, l.Room-l.amount(n))
	}
	return max(0, left)
}

// Limits returns all limits that there are, in no particular order.
func (s System) Limits() []Limit {
	if s.Root == "" && !procFiles {
		return ofSystem()
	}
	limits := append(ofSystem(), s.resourceLimits()...)
	machine, swap := s.machine()
	limits = append(limits, machine...)
	return append(limits, s.groups(swap)...)
}

func resident(n Need) int64 { return n.Resident }

// machine returns the machine's available memory as a limit, and its free swap space in bytes.
func (s System) machine() (limits []Limit, swap int64) {
	info := s.table("/proc/meminfo", ":")
	total, ok := info["MemTotal"]
	available, ok2 := info["MemAvailable"]
	swap = info["SwapFree"]
	if !ok || !ok2 {
		return nil, swap
	}
	return []Limit{{
		Name: "the machine's memory", Max: total, Room: available + swap, amount: resident,
		Remedy: "run less at the same time (go test -p 1), use a machine with %d MiB",
	}}, swap
}

// resourceLimits returns the limits of getrlimit(2) that bound memory.
func (s System) resourceLimits() []Limit {
	text, err := readFile(s.path("/proc/self/limits"))
	if err != nil {
		return nil
	}
	used := s.table("/proc/self/status", ":")
	var limits []Limit
	for line := range strings.Lines(string(text)) {
		// "Max address space         921600000            unlimited            bytes"
		for _, l := range []struct {
			prefix, used string
			Limit
		}{
			{"Max address space ", "VmSize", Limit{
				Name: "the limit on address space (ulimit -v)", Remedy: "raise ulimit -v to %d MiB or more",
				amount: func(n Need) int64 { return n.Address },
			}},
			{"Max data size ", "VmData", Limit{
				Name: "the limit on data (ulimit -d)", Remedy: "raise ulimit -d to %d MiB or more",
				amount: func(n Need) int64 { return n.Private },
			}},
		} {
			rest, ok := strings.CutPrefix(line, l.prefix)
			if !ok {
				continue
			}
			value, _ := firstField(rest)
			most, err := strconv.ParseInt(value, 10, 64)
			now, ok := used[l.used]
			if err == nil && ok {
				l.Max, l.Room = most, most-now
				limits = append(limits, l.Limit)
			}
		}
	}
	return limits
}

func (s System) path(name string) string { return filepath.Join("/", s.Root, name) }

// table reads lines "Name: 123 kB" or "name 123". Figures in kB become bytes.
func (s System) table(name, separator string) map[string]int64 {
	text, err := readFile(s.path(name))
	if err != nil {
		return nil
	}
	found := make(map[string]int64)
	for line := range strings.Lines(string(text)) {
		key, rest, _ := strings.Cut(line, separator)
		value, unit := firstField(rest)
		if value == "" || value[0] < '0' || value[0] > '9' {
			continue // an error would be allocated
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			continue
		}
		if strings.TrimSpace(unit) == "kB" {
			n <<= 10
		}
		found[key] = n
	}
	return found
}

// firstField returns the first of the fields of a text, and what follows it. It allocates nothing:
// limits are read again and again during a scan.
func firstField(text string) (first, rest string) {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

// number reads a file with one number. "max", and numbers close to the largest int64, are no limit.
func (s System) number(name string) (n int64, ok bool) {
	text, err := readFile(s.path(name))
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil && n < math.MaxInt64>>1
}
