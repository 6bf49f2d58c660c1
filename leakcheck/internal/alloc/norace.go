//go:build !race

package alloc

// RaceDetector reports whether the program is built with -race.
const RaceDetector = false
