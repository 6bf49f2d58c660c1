//go:build !bare

package main

import "runtime"

// A program has a memory profiler if it refers to what reads it, as runtime/pprof does.
func init() { runtime.MemProfile(nil, false) }
