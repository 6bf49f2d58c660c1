package ledger

import "fmt"

// A Limit is a limit of the system, and how much of it is used. What others use of a limit that
// several processes share is unknown for inotify, and 0.
type Limit struct {
	Name      string // "inotify instances (fs.inotify.max_user_instances)"
	Kind      Kind   // of the resources that use it
	Used, Max int64
}

// String returns "128 of 128 inotify instances (fs.inotify.max_user_instances)".
func (l *Limit) String() string { return fmt.Sprintf("%d of %d %s", l.Used, l.Max, l.Name) }
