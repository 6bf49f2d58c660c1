// Package assert compares our assertions with those of testify.
package assert
