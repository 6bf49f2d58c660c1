// Package judges compares what is ours with what others are known to do right: delve judges what
// leakgate finds about a process's variables, google/pprof our profiles, testify our assertions,
// and the zip files of modules the names of golden files.
package judges
