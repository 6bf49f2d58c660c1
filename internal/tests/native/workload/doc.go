// Package workload is C code that allocates.
package workload
