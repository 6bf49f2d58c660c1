package growth

// What must be missed more and more, to be taken for a leak. Some objects are missed by chance,
// since freezing the process takes processors away with what they have at hand (see auditFloor),
// but not one with every fourth call.
const (
	minMissed        = 24
	minMissedPerCall = 0.25
)

// missedGrow reports whether more and more objects are missed.
func (s series) missedGrow() bool {
	return (len(s.values) <= intervals || s.grown() >= minMissed) && s.perCall() >= minMissedPerCall && s.countsKeepPace()
}
