package observe

import "time"

// Times are the times that lie in the objects at a path of a folded report: recent ones, and those
// that are ahead, at which entries expire.
type Times struct {
	Place, path, Of string // the path, for people and in reports, and whose entries these are
	recent, ahead   stretch
	objects, bytes  int64 // that were read
}

// A stretch has so many words that are times, from first to last, in seconds since 1970.
type stretch struct{ found, first, last int64 }

// many reports whether there are many of some times: one in each object, and in each part of a
// large one.
func (t *Times) many(s *stretch) bool {
	const part = 1 << 10
	return s.found > 0 && s.found >= t.objects && s.found*part >= t.bytes
}

// Recent reports whether there are many recent times.
func (t *Times) Recent() bool { return t.many(&t.recent) }

// Expires returns how far ahead the last of the times is, if there are many and none of them is
// long ago; 0 if not. What expires soon may do so while the experiment is under way.
func (t *Times) Expires(q *ContentQuery) time.Duration {
	now, all := q.now.Unix(), t.ahead
	if t.recent.found > 0 {
		all.found, all.first = all.found+t.recent.found, t.recent.first
	}
	if t.ahead.found == 0 || !t.many(&all) || all.last-all.first > now-q.Since.Unix() {
		return 0
	}
	return time.Duration(all.last-now) * time.Second
}
