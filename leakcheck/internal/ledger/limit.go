package ledger

import "fmt"

// A Limit is a limit of the system, and how much of it is used. What others use of a limit that
// several processes share is unknown for inotify and for ports, and 0.
type Limit struct {
	Name      string // "inotify instances (fs.inotify.max_user_instances)"
	Of        Use
	Used, Max int64
}

// String returns "128 of 128 inotify instances (fs.inotify.max_user_instances)".
func (l *Limit) String() string { return fmt.Sprintf("%d of %d %s", l.Used, l.Max, l.Name) }

// A Use is what limits of the system are about.
type Use int

// The uses.
const (
	Descriptors Use = iota
	Tasks           // threads and child processes
	Areas           // of memory that is mapped
	LockedBytes     // of memory
	uses
)

// ByUse has an amount of each use.
type ByUse [uses]int64

// Uses is how much of each this process has, plus a constant. The virtual memory, in KiB, tells
// whether there may be more areas.
type Uses struct {
	Amounts ByUse
	virtual int64
}

// Since returns how much more there is of each than before, 0 if less.
func (u *Uses) Since(before *Uses) (more ByUse) {
	for i := range more {
		more[i] = max(0, u.Amounts[i]-before.Amounts[i])
	}
	return more
}
