//go:build asan

package refscan

const padded = true
