package jump

import "time"

// A Judge says which collections are to be looked at. It is not safe for concurrent use.
type Judge struct {
	detector detector
	limiter  limiter
	leftOut  int
	given    int       // how many were left out before the last spike
	nothing  time.Time // when a look showed that there was none
}

// patience is how long nothing is looked at that is not certain, after a look that showed nothing.
const patience = 10 * time.Second

// NewJudge makes a judge that has seen no collection. There is at least interval between two spikes
// that are to be looked at, and there are at most perDay in any 24 hours.
func NewJudge(t Threshold, interval time.Duration, perDay int) *Judge {
	return &Judge{detector: detector{threshold: t}, limiter: limiter{interval: interval, perDay: perDay}}
}

// A Judgement is what is known of a collection. Sizes are in bytes.
type Judgement struct {
	Usual int64 // the median of those before
	Limit int64 // the most that is no spike
	Spike bool  // it is to be looked at
	// LeftOut is, of a spike, how many collections beyond the threshold were not since the one
	// before, because of the limits.
	LeftOut int
	// Calm says that it is known what is usual, and no more is alive.
	Calm bool
}

// Ended is to be called for each collection, with how much it found alive, and when that is. Where
// part of that may be garbage it is not certain.
func (j *Judge) Ended(live int64, certain bool, at time.Time) Judgement {
	usual, jumped := j.detector.Ended(live)
	g := Judgement{Usual: usual, Limit: j.detector.threshold.Limit(usual)}
	switch {
	case jumped && !certain && !j.nothing.IsZero() && at.Sub(j.nothing) < patience:
	case jumped && !j.limiter.allow(at):
		j.leftOut++
	case jumped:
		j.detector.Seen(live)
		g.Spike = true
		g.LeftOut, j.given, j.leftOut = j.leftOut, j.leftOut, 0
	default:
		g.Calm = j.detector.Ready() && live <= g.Limit
	}
	return g
}

// Nothing takes the last spike back, which was not certain: a look showed that there is none.
func (j *Judge) Nothing(at time.Time) {
	j.limiter.undo()
	j.detector.Seen(0)
	j.leftOut, j.given, j.nothing = j.leftOut+j.given, 0, at
}

// LeftOut is how many collections beyond the threshold the limits left out since the last spike.
func (j *Judge) LeftOut() int { return j.leftOut }
