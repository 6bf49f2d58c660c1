//go:build !race

package refscan

const shadowShare = 0
