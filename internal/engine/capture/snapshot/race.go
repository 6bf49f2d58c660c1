//go:build race

package snapshot

// shadowShare is the most that the race detector's shadow memory adds to the memory of a snapshot
// and a scan, as a share of it: 0.7 was measured over the shapes of TestForecastCoversPeak.
const shadowShare = 1
