//go:build !unix

package elffile

const openFlags = 0
