// Package alloccompare holds what tests allocate at one revision against what they allocate at
// another, by type and by function, and judges what grew.
package alloccompare
