package spikerule

import "time"

// A limiter bounds how often an action is done. It is not safe for concurrent use.
type limiter struct {
	interval time.Duration // at least, between two actions
	perDay   int           // at most, in any 24 hours
	done     []time.Time
}

// allow reports whether the action may be done now, and if so counts it as done. Times must not go
// back.
func (l *limiter) allow(now time.Time) bool {
	for len(l.done) > 0 && now.Sub(l.done[0]) >= 24*time.Hour {
		l.done = l.done[1:]
	}
	if len(l.done) >= l.perDay || len(l.done) > 0 && now.Sub(l.done[len(l.done)-1]) < l.interval {
		return false
	}
	l.done = append(l.done, now)
	return true
}

// undo takes back the last action.
func (l *limiter) undo() {
	if n := len(l.done); n > 0 {
		l.done = l.done[:n-1]
	}
}
