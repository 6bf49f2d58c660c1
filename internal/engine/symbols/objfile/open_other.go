//go:build !unix

package objfile

const openFlags = 0
