package jump

import "time"

// A Limiter bounds how often something is done. It is not safe for concurrent use.
type Limiter struct {
	Interval time.Duration // at least, between two
	PerDay   int           // at most, in any 24 hours
	done     []time.Time
}

// Allow reports whether it may be done now, which is then taken for done. Times must not go back.
func (l *Limiter) Allow(now time.Time) bool {
	for len(l.done) > 0 && now.Sub(l.done[0]) >= 24*time.Hour {
		l.done = l.done[1:]
	}
	if len(l.done) >= l.PerDay || len(l.done) > 0 && now.Sub(l.done[len(l.done)-1]) < l.Interval {
		return false
	}
	l.done = append(l.done, now)
	return true
}
