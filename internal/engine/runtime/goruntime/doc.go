// Package goruntime reads the Go runtime's own structures out of the image of a frozen process: its
// modules, spans, types, goroutines with their frames and live slots, finalizers and cleanups.
//
// The offset of a field comes from the program's own debug information, so that fields that move
// from one Go version to the next need no change here. The meaning of a field comes from one table
// by Go version (package rtlayout, version.go); versions that are not in the table are refused.
//
// The package checks every number that it reads before it uses the number as a size, an index or a
// loop bound: the image may be damaged. Reads that fail leave the sticky error of image.Space,
// which Load returns.
package goruntime
