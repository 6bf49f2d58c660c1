// Package delve compares what leakgate finds about a process's variables with a debugger.
package delve
