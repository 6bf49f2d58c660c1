// Package assert judges our assertions by those of testify.
package assert
