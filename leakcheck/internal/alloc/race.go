//go:build race

package alloc

// RaceDetector says whether the program is built with -race.
const RaceDetector = true
