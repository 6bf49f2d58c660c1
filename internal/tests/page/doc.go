// Package page tests leakgate's output with the programs that users view it with: pprof, and a
// browser.
package page
