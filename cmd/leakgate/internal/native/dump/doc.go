// Package dump reads what a process leaves of its memory: profiles of native memory, with or
// without names (the text of gperftools, of tcmalloc and of jemalloc, and pprof's own format), core
// files as the kernel and gcore write them (core(5)), and maps of which files are mapped where
// (/proc/PID/maps, and the copy of it that profiles have at their end).
package dump
