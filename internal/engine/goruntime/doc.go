// Package goruntime reads the Go runtime's own structures out of the image of a frozen process: its
// modules, spans, types, goroutines with their frames and live slots, finalizers and cleanups.
//
// Where a field lies comes from the program's own debug information, so that fields that move from
// one Go version to the next cost nothing. What a field means comes from one table by Go version
// (version.go); a version that is not in it is refused rather than guessed at.
//
// Everything read is checked before it is used as a size, an index or a loop bound: the image may
// be damaged. Reads that fail leave the sticky error of image.Space, which Load turns into its own.
package goruntime
