package spikerule

import "time"

// A Judge decides which collections are spikes to examine. It is not safe for concurrent use.
type Judge struct {
	detector    detector
	limiter     limiter
	last        uint64 // number of the last collection; 0: none
	calm        uint64 // number of the last one that was calm
	missed      int
	leftOut     int
	lastLeftOut int       // LeftOut of the last spike
	refutedAt   time.Time // when a snapshot last showed that a spike was none
}

// patience is how long uncertain spikes are ignored after a snapshot that showed no spike.
const patience = 10 * time.Second

// NewJudge makes a judge that has seen no collection. Two spikes are at least interval apart, and
// there are at most perDay in any 24 hours.
func NewJudge(t Threshold, interval time.Duration, perDay int) *Judge {
	return &Judge{detector: detector{threshold: t}, limiter: limiter{interval: interval, perDay: perDay}}
}

// A Judgement is what a Judge finds about a collection. Sizes are in bytes.
type Judgement struct {
	Usual int64 // the median of the collections before
	Limit int64 // the most that is no spike
	Spike bool  // the collection is a spike to examine
	// LeftOut is, for a spike, how many collections beyond the threshold were ignored since the
	// previous spike, because of the limits.
	LeftOut int
	// Sudden says, for a spike, that the collection right before it was judged, and calm.
	Sudden bool
	// Calm says that it is known what is usual, and that no more than Limit is alive.
	Calm bool
}

// Ended is to be called for each collection that is judged, with its number, from 1, with the bytes
// that it found alive, and its time. certain is false if some of these bytes may be garbage.
func (j *Judge) Ended(number uint64, live int64, certain bool, at time.Time) Judgement {
	if j.last > 0 && number > j.last {
		j.missed += int(number - j.last - 1)
	}
	j.last = number
	usual, jumped := j.detector.Ended(live)
	g := Judgement{Usual: usual, Limit: j.detector.threshold.Limit(usual)}
	switch {
	case jumped && !certain && !j.refutedAt.IsZero() && at.Sub(j.refutedAt) < patience:
	case jumped && !j.limiter.allow(at):
		j.leftOut++
	case jumped:
		j.detector.Seen(live)
		g.Spike, g.Sudden = true, j.calm == number-1
		g.LeftOut, j.lastLeftOut, j.leftOut = j.leftOut, j.leftOut, 0
	default:
		if g.Calm = j.detector.Ready() && live <= g.Limit; g.Calm {
			j.calm = number
		}
	}
	return g
}

// Nothing takes back the last spike, which was not certain: a snapshot showed that there is none.
func (j *Judge) Nothing(at time.Time) {
	j.limiter.undo()
	j.detector.Seen(0)
	j.leftOut, j.lastLeftOut, j.refutedAt = j.leftOut+j.lastLeftOut, 0, at
}

// Missed is how many collections ended between two that were judged.
func (j *Judge) Missed() int { return j.missed }

// LeftOut is how many collections beyond the threshold the limits left out since the last spike.
func (j *Judge) LeftOut() int { return j.leftOut }
