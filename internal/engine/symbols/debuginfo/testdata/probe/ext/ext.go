// Package ext has its tests in an external test package only.
package ext

// X is a package variable.
var X *int
