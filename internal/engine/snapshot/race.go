//go:build race

package snapshot

// shadowShare is what the race detector's shadow memory adds to what a snapshot and a scan take, at
// most: 0.7 of it was measured over the shapes of TestForecastCoversPeak.
const shadowShare = 1
