// Package page looks at what leakgate shows, with the programs that people look with: pprof, and a
// browser.
package page
