//go:build !linux

package gotest

// Building says what compilers and linkers that the go command has started are at; "" since that is
// not known here.
func Building() string { return "" }
